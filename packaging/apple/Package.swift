// swift-tools-version:5.7
// After build_xcframework.sh has made libquant.xcframework beside this file: `.package(path: "…/libquant/packaging/apple")`.
import PackageDescription

let package = Package(
  name: "libquant",
  platforms: [.iOS(.v15)],
  products: [.library(name: "libquant", targets: ["libquant"])],
  targets: [.binaryTarget(name: "libquant", path: "libquant.xcframework")]
)
