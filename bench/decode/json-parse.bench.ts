import type { MicroBench } from '../bench.ts'

/** The unit of the table: lines that are already strings. */
export const jsonParse: MicroBench = {
  name: 'decode/json-parse',
  title: 'JSON.parse line by line',
  kind: 'json',
  prepare:
    ({ lines }) =>
    () => {
      let objects = 0
      for (const line of lines) if (JSON.parse(line) !== null) objects++
      return objects
    },
}

/** What a service that parses really pays: the lines arrive as bytes. */
export const jsonParseBytes: MicroBench = {
  name: 'decode/json-parse-bytes',
  title: 'cut at newlines, to string, JSON.parse',
  kind: 'json',
  prepare:
    ({ body }) =>
    () => {
      let objects = 0
      let start = 0
      for (;;) {
        const end = body.indexOf(0x0a, start)
        if (end < 0) return objects
        if (JSON.parse(body.toString('utf8', start, end)) !== null) objects++
        start = end + 1
      }
    },
}

/** What a service pays that changes an event as an object and writes it again. */
export const jsonParseStringify: MicroBench = {
  name: 'decode/json-parse-stringify',
  title: 'JSON.parse + JSON.stringify',
  kind: 'json',
  prepare:
    ({ lines }) =>
    () => {
      let chars = 0
      for (const line of lines) chars += JSON.stringify(JSON.parse(line)).length
      return chars
    },
}
