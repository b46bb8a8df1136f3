/** A stand-in: the whole message of each record as `message`. */
import { SYSLOG_HEAD_BYTES } from '../../../src/model/batch/syslog-part.ts'
import { TAPE_PADDING } from '../../tape/json-tape.ts'
import { ROOT } from '../../tape/path-trie.ts'
import type { Decoder } from '../decoder.ts'
import { PartOutcome } from '../part-outcome.ts'

const LENGTH_BYTES = 4

export const syslogDecoder: Decoder = {
  input: 'binary',
  create: ({ tape, events, generated: into }) => {
    return (bytes, { start, end }) => {
      const outcome = new PartOutcome()
      const view = new DataView(bytes.buffer, bytes.byteOffset)
      for (let at = start; at < end; ) {
        const next = at + LENGTH_BYTES + view.getUint32(at, true)
        const from = at + SYSLOG_HEAD_BYTES + bytes[at + SYSLOG_HEAD_BYTES - 1]!
        const message = Buffer.from(bytes.subarray(from, next)).toString()
        const json = Buffer.from(`${JSON.stringify({ message })}\n`)
        into.reserve(json.length + TAPE_PADDING)
        tape.extend(into.bytes)
        const eventStart = into.length
        into.bytes.set(json, eventStart)
        into.length += json.length
        into.bytes.fill(0, into.length, into.length + TAPE_PADDING)
        tape.parse(eventStart, ROOT, true)
        events.add(eventStart, into.length - 1, tape.length)
        outcome.accept(next - from, 1)
        at = next
      }
      outcome.lines = 0
      return outcome
    }
  },
}
