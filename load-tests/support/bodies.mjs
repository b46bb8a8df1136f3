/** Takes a virtual user's request bodies from the files that `make-bodies.mjs` makes. Pure. */

/** Events in the bodies that one user keeps, at least one body. */
const EVENTS_PER_USER = 4_000
const BODIES_PER_USER_MAX = 64

export function fileOf(surface, eventCount) {
  return `${surface}-${eventCount}.bodies`
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
