/** Writes the records of a batch: `model/batch/syslog-part.ts`. */
import { copyBytes } from '../../../bytes/copy-bytes.ts'
import { SYSLOG_CUT, SYSLOG_HEAD_BYTES } from '../../../model/batch/syslog-part.ts'

const LENGTH_BYTES = 4

/** Writes one at `at`; returns where it ends. There is room. Hot. */
export function writeRecord(
  to: Uint8Array,
  at: number,
  peer: Uint8Array,
  message: Uint8Array,
  isCut: boolean,
): number {
  const length = SYSLOG_HEAD_BYTES - LENGTH_BYTES + peer.length + message.length
  to[at] = length & 0xff
  to[at + 1] = (length >> 8) & 0xff
  to[at + 2] = (length >> 16) & 0xff
  to[at + 3] = length >>> 24
  to[at + 4] = isCut ? SYSLOG_CUT : 0
  to[at + 5] = peer.length
  let pos = at + SYSLOG_HEAD_BYTES
  for (let i = 0; i < peer.length; i++) to[pos++] = peer[i]!
  copyBytes(to, message, pos)
  return pos + message.length
}

/** An address as records have it: ASCII, of IPv4 in its own form. */
export function peerOf(address: string | undefined): Uint8Array {
  return Buffer.from((address ?? '').replace(/^::ffff:(?=\d+\.)/, ''), 'latin1').subarray(0, 255)
}
