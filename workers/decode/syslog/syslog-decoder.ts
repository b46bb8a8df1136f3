/** A stand-in: the whole message of each record as `message`. */
import type { Decoder } from '../decoder.ts'
import { PartOutcome } from '../part-outcome.ts'
import { decodeText } from '../text.ts'

export const syslogDecoder: Decoder = {
  input: 'binary',
  create: ({ tape, events, generated }) => {
    return (bytes, { start, end }) => {
      const outcome = new PartOutcome()
      const text = new Uint8Array(new SharedArrayBuffer(end - start + 32))
      let length = 0
      for (let at = start; at < end; ) {
        const next = at + 4 + Buffer.from(bytes.buffer, bytes.byteOffset + at, 4).readUInt32LE()
        const message = Buffer.from(bytes.subarray(at + 6 + bytes[at + 5]!, next))
        for (let i = 0; i < message.length; i++) if (message[i] === 0x0a) message[i] = 0x20
        text.set(message, length)
        length += message.length
        text[length++] = 0x0a
        at = next
      }
      const range = { start: 0, end: length }
      decodeText(tape, events, text, range, outcome, generated)
      return outcome
    }
  },
}
