/** The `ndjson` package has no types of its own; this is the little that the bench uses. */
declare module 'ndjson' {
  import type { Transform } from 'node:stream'

  const ndjson: { parse(): Transform }
  export default ndjson
}
