/**
 * Files of request bodies: the runner makes them in Node, as k6's own JavaScript is too slow to
 * encode, and even to share, megabytes; virtual users slice them in no time. Pure.
 *
 * A file is body after body, each behind its length in four bytes, little-endian.
 */
import { makeBody } from './surfaces.mjs'

/** Distinct events in a file. Each user holds the file for a moment: 5 MB. */
const EVENTS_PER_FILE = 8_000
const BODIES_PER_FILE_MAX = 2_000
/** Events in the bodies that one user keeps, at least one body. */
const EVENTS_PER_USER = 4_000
const BODIES_PER_USER_MAX = 64

export function fileOf(surface, eventCount) {
  return `${surface}-${eventCount}.bodies`
}

/** At least two bodies, of the corpus's lines in turn. */
export function encodeBodies(lines, surface, options, eventCount) {
  const wanted = Math.ceil(EVENTS_PER_FILE / eventCount)
  const count = Math.min(BODIES_PER_FILE_MAX, Math.max(2, wanted))
  const bodies = Array.from({ length: count }, (_, body) => {
    const indexOf = (i) => (body * eventCount + i) % lines.length
    const chosen = Array.from({ length: eventCount }, (_, i) => lines[indexOf(i)])
    return makeBody(surface, chosen, options)
  })
  const file = new Uint8Array(bodies.reduce((sum, { length }) => sum + 4 + length, 0))
  const view = new DataView(file.buffer)
  let at = 0
  for (const body of bodies) {
    view.setUint32(at, body.length, true)
    file.set(body, at + 4)
    at += 4 + body.length
  }
  return file
}

/** Those of one user, each an ArrayBuffer of its own; users begin at different ones. */
export function takeBodies(file, eventCount, user) {
  const view = new DataView(file)
  const starts = []
  for (let at = 0; at < file.byteLength; at += 4 + view.getUint32(at, true)) starts.push(at)
  const wanted = Math.min(BODIES_PER_USER_MAX, Math.ceil(EVENTS_PER_USER / eventCount))
  const count = Math.min(starts.length, wanted)
  return Array.from({ length: count }, (_, i) => {
    const start = starts[(user * count + i) % starts.length]
    return file.slice(start + 4, start + 4 + view.getUint32(start, true))
  })
}
