/** The pre-filter that was not taken: one expression over the batch as one latin1 string. */
import { ENTRY, ESCAPED, STRING } from '../../workers/tape/tape-types.ts'
import { SECRET_TABLE } from '../../workers/transform/secrets/secret-table.ts'
import { SecretScanner } from '../../workers/transform/secrets/secrets.ts'
import type { MicroBench } from '../bench.ts'
import { TapeBatch } from '../decode/tape-batch.ts'

export const secretScan: MicroBench = {
  name: 'transform/secrets',
  title: 'secret scan of every string, no hits',
  kind: 'json',
  prepare: (batch) => {
    const { tape, bytes } = new TapeBatch(batch)
    const scanner = new SecretScanner()
    return () => {
      let found = 0
      scanner.begin(bytes)
      for (let at = 0; at < tape.length; at += ENTRY) {
        const type = tape.entries[at + 1]
        const start = tape.entries[at + 2]!
        const end = tape.entries[at + 3]!
        if (type === STRING) found += scanner.scan(start, end)
        else if (type === ESCAPED) found += scanner.scanEscaped(start, end)
      }
      return found
    }
  },
}

export const secretRegex: MicroBench = {
  name: 'transform/secrets-regex',
  title: 'one regular expression over the batch',
  kind: 'json',
  prepare: ({ body }) => {
    const formats = SECRET_TABLE.flatMap(([, ...patterns]) => patterns)
    const pattern = new RegExp(
      [...formats, '://[^/ ]*@', 'PRIVATE KEY', '[Bb]asic '].join('|'),
      'g',
    )
    return () => {
      let found = 0
      pattern.lastIndex = 0
      const text = body.toString('latin1')
      while (pattern.exec(text) !== null) found++
      return found
    }
  },
}
