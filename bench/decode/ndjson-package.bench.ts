import { once } from 'node:events'
import ndjson from 'ndjson'
import type { MicroBench } from '../bench.ts'

/** As the network would cut it. */
const CHUNK_BYTES = 64 * 1024

/** Framing and parsing by the package that most Node services would take. */
export const ndjsonPackage: MicroBench = {
  name: 'decode/ndjson-package',
  title: 'ndjson package, 64 KiB chunks',
  kind: 'json',
  prepare:
    ({ body, lines }) =>
    async () => {
      const parser = ndjson.parse()
      let objects = 0
      parser.on('data', () => objects++)
      const ended = once(parser, 'end')
      for (let start = 0; start < body.length; start += CHUNK_BYTES) {
        parser.write(body.subarray(start, start + CHUNK_BYTES))
      }
      parser.end()
      await ended
      if (objects !== lines.length) throw new Error(`ndjson saw ${objects} events`)
    },
}
