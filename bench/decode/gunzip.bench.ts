import { gunzipSync, gzipSync } from 'node:zlib'
import type { MicroBench } from '../bench.ts'

/** What a compressed body costs before anything of it is looked at. */
export const gunzip: MicroBench = {
  name: 'decode/gunzip',
  title: 'gunzip of a gzip -6 body',
  kind: 'json',
  prepare: ({ body }) => {
    const compressed = gzipSync(body)
    return () => gunzipSync(compressed)
  },
}
