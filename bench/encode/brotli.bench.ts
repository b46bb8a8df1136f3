import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { MicroBench } from '../bench.ts'

/** A segment of a busy stream; small ones compress worse. */
const SEGMENT_BYTES = 330_000
const SMALL_SEGMENT_BYTES = 33_000

function compressInPieces(pieceBytes: number, compress: (piece: Buffer) => Buffer) {
  return ({ body }: { body: Buffer }) =>
    () => {
      let bytes = 0
      for (let start = 0; start < body.length; start += pieceBytes) {
        bytes += compress(body.subarray(start, start + pieceBytes)).length
      }
      return bytes
    }
}

function brotli(
  quality: number,
  windowBits: number = constants.BROTLI_DEFAULT_WINDOW,
): (piece: Buffer) => Buffer {
  return (piece) =>
    brotliCompressSync(piece, {
      params: {
        [constants.BROTLI_PARAM_QUALITY]: quality,
        [constants.BROTLI_PARAM_SIZE_HINT]: piece.length,
        [constants.BROTLI_PARAM_LGWIN]: windowBits,
      },
    })
}

/** Why segments are brotli quality 1: cheaper than gzip, smaller than quality 0. */
export const compressionBenches: readonly MicroBench[] = [
  {
    name: 'encode/brotli-0',
    title: 'brotli q0, 330 KB',
    kind: 'json',
    prepare: compressInPieces(SEGMENT_BYTES, brotli(0)),
  },
  {
    name: 'encode/brotli-1',
    title: 'brotli q1, 330 KB',
    kind: 'json',
    prepare: compressInPieces(SEGMENT_BYTES, brotli(1)),
  },
  {
    name: 'encode/brotli-1-window-16',
    title: 'brotli q1, 330 KB, window of 64 KiB',
    kind: 'json',
    prepare: compressInPieces(SEGMENT_BYTES, brotli(1, 16)),
  },
  {
    name: 'encode/brotli-1-small',
    title: 'brotli q1, 33 KB',
    kind: 'json',
    prepare: compressInPieces(SMALL_SEGMENT_BYTES, brotli(1)),
  },
  {
    name: 'encode/gzip-1',
    title: 'gzip -1, 330 KB',
    kind: 'json',
    prepare: compressInPieces(SEGMENT_BYTES, (piece) => gzipSync(piece, { level: 1 })),
  },
]
