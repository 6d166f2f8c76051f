// Times a model in ONNX Runtime: node ort_time.js FOLDER_WITH_NODE_MODULES MODEL.onnx THREADS RUNS. Prints the median in ms.
// INT8 models run in exact mode: on x86 without VNNI its default saturates.
const path = require('path');
const ort = require(require.resolve('onnxruntime-node', {paths: [process.argv[2]]}));
(async () => {
  const [model, threads, runs] = [process.argv[3], +process.argv[4], +process.argv[5]];
  const session = await ort.InferenceSession.create(path.resolve(model), {
    intraOpNumThreads: threads, interOpNumThreads: 1, executionMode: 'sequential', graphOptimizationLevel: 'all',
    extra: {session: {x64quantprecision: '1'}}});
  const {name, shape} = session.inputMetadata[0];
  const dims = shape.map(d => typeof d === 'number' && d > 0 ? d : 1);
  let seed = 1;
  const random = () => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648;
  const data = Float32Array.from({length: dims.reduce((a, b) => a * b, 1)}, () => random() * 4 - 2);
  const feeds = {[name]: new ort.Tensor('float32', data, dims)}, times = [];
  for (let i = 0; i < runs + 3; ++i) {
    const start = process.hrtime.bigint();
    await session.run(feeds);
    if (i >= 3) times.push(Number(process.hrtime.bigint() - start) / 1e6);
  }
  times.sort((a, b) => a - b);
  console.log(times[times.length >> 1].toFixed(3));
})();
