/**
 * The records of a batch of syslog messages, as `workers/decode/syslog/` reads them:
 *
 *   u32 little-endian: bytes that follow | u8 flags | u8 length of peer | peer | message
 */
import { copyBytes } from '../../../bytes/copy-bytes.ts'

/** Flag: the message was longer, or its sender went away before its end. */
export const RECORD_IS_CUT = 1
/** Of a record beside its peer and its message. */
export const RECORD_HEAD_BYTES = 6
const LENGTH_BYTES = 4

/** Writes one at `at`; returns where it ends. There is room. Hot. */
export function writeRecord(
  to: Uint8Array,
  at: number,
  peer: Uint8Array,
  message: Uint8Array,
  isCut: boolean,
): number {
  const length = RECORD_HEAD_BYTES - LENGTH_BYTES + peer.length + message.length
  to[at] = length & 0xff
  to[at + 1] = (length >> 8) & 0xff
  to[at + 2] = (length >> 16) & 0xff
  to[at + 3] = length >>> 24
  to[at + 4] = isCut ? RECORD_IS_CUT : 0
  to[at + 5] = peer.length
  let pos = at + RECORD_HEAD_BYTES
  for (let i = 0; i < peer.length; i++) to[pos++] = peer[i]!
  copyBytes(to, message, pos)
  return pos + message.length
}

/** An address as records have it: ASCII, of IPv4 in its own form. */
export function peerOf(address: string | undefined): Uint8Array {
  return Buffer.from((address ?? '').replace(/^::ffff:(?=\d+\.)/, ''), 'latin1').subarray(0, 255)
}
