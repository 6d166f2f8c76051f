// Runs one ONNX model in ONNX Runtime (CPU) on raw little-endian files: node ort_run.js MODULE_DIR JOB.json
// Job: {"model": path, "samples": N, "inputs": [{"name", "type", "dims", "file"}], "outputs": [{"name", "file"}]};
// each file holds the tensor of every sample, one after the other. "literal": true switches graph optimisation off.
'use strict';
const fs = require('fs');
const path = require('path');

const kArrays = {float32: Float32Array, int8: Int8Array, uint8: Uint8Array, int32: Int32Array, int64: BigInt64Array};

async function main() {
  const ort = require(path.join(process.argv[2], 'node_modules', 'onnxruntime-node'));
  const job = JSON.parse(fs.readFileSync(process.argv[3], 'utf8'));
  const session = await ort.InferenceSession.create(job.model, {
    executionProviders: ['cpu'],
    graphOptimizationLevel: job.literal ? 'disabled' : 'all',
    intraOpNumThreads: 1,
    logSeverityLevel: 3,
    // Without it int8 products use 16-bit pairwise sums where there is no VNNI; they saturate, which ONNX does not.
    extra: {session: {x64quantprecision: '1'}},
  });
  const inputs = job.inputs.map((i) => {
    const bytes = fs.readFileSync(i.file);
    const count = i.dims.reduce((a, b) => a * b, 1);
    // A copy of its own: Buffer memory may not be aligned for the element type.
    const values = new kArrays[i.type](new Uint8Array(bytes).buffer);
    if (values.length !== count * job.samples) {
      throw new Error(`${i.file}: ${values.length} values, not ${count} x ${job.samples}`);
    }
    return {...i, count, values};
  });
  const files = job.outputs.map((o) => fs.openSync(o.file, 'w'));
  for (let s = 0; s < job.samples; ++s) {
    const feeds = {};
    for (const i of inputs) {
      feeds[i.name] = new ort.Tensor(i.type, i.values.subarray(s * i.count, (s + 1) * i.count), i.dims);
    }
    const results = await session.run(feeds);
    job.outputs.forEach((o, n) => {
      const data = results[o.name].data;
      fs.writeSync(files[n], new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
    });
  }
  files.forEach((f) => fs.closeSync(f));
}

main().catch((error) => {
  console.error(`ort_run.js: ${error.message}`);
  process.exit(1);
});
