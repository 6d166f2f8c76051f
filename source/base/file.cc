#include "base/file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lq {
namespace {

Status failed(const std::string& path, const char* what) {
  const int error = errno;
  const std::string message = path + ": cannot " + what + ": " + std::strerror(error);
  return error == ENOENT ? not_found(message) : io_error(message);
}

struct Mapping {
  void* address;
  size_t size;
  ~Mapping() { munmap(address, size); }
};

Status write_all(int fd, const FilePart& part, const std::string& path) {
  const char* p = static_cast<const char*>(part.data);
  for (size_t left = part.size; left > 0;) {
    const ssize_t n = write(fd, p, left);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed(path, "write");
    p += n;
    left -= size_t(n);
  }
  return {};
}

Status write_and_sync(int fd, const std::vector<FilePart>& parts, const std::string& path) {
  for (const FilePart& part : parts) LQ_RETURN_IF_ERROR(write_all(fd, part, path));
  if (fsync(fd) != 0) return failed(path, "flush to disk");
  return {};
}

/// Makes the rename itself durable. Some file systems cannot fsync a folder: not an error.
void sync_folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  fsync(fd);
  close(fd);
}

}  // namespace

Result<Bytes> map_descriptor(int fd, uint64_t offset, uint64_t length, const std::string& name) {
  struct stat info;
  if (fstat(fd, &info) != 0) return failed(name, "read its size");
  if (!S_ISREG(info.st_mode)) return invalid_argument(name + ": is not a regular file");
  const uint64_t size = uint64_t(info.st_size);
  if (offset > size || length > size - offset) {
    return invalid_argument(name + ": has " + std::to_string(size) + " bytes, not " + std::to_string(length) +
                            " from offset " + std::to_string(offset));
  }
  if (length == 0) length = size - offset;
  if (length == 0) return Bytes(nullptr, 0, std::make_shared<char>());
  // A mapping begins on a page; the bytes may not.
  const uint64_t ahead = offset % uint64_t(sysconf(_SC_PAGESIZE));
  if (length > SIZE_MAX - ahead) return out_of_memory(name + ": is too large to map");
  const size_t mapped = size_t(length + ahead);
  void* address = mmap(nullptr, mapped, PROT_READ, MAP_PRIVATE, fd, off_t(offset - ahead));
  if (address == MAP_FAILED) return failed(name, "map");
  std::shared_ptr<Mapping> owner(new Mapping{address, mapped});
  return Bytes(static_cast<const uint8_t*>(address) + ahead, size_t(length), std::move(owner));
}

Result<Bytes> map_file(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return failed(path, "open");
  Result<Bytes> bytes = map_descriptor(fd, 0, 0, path);
  close(fd);
  return bytes;
}

Status write_file_atomically(const std::string& path, const std::vector<FilePart>& parts) {
  // A fixed suffix with the process id: unique among writers, and recognisable should the machine lose power.
  const std::string temporary = path + ".tmp" + std::to_string(getpid());
  const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return failed(path, "create");
  Status status = write_and_sync(fd, parts, path);
  if (close(fd) != 0 && status.ok()) status = failed(path, "close");
  if (status.ok() && rename(temporary.c_str(), path.c_str()) != 0) status = failed(path, "rename into place");
  if (!status.ok()) {
    unlink(temporary.c_str());
    return status;
  }
  sync_folder_of(path);
  return {};
}

}  // namespace lq
