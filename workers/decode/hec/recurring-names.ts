/**
 * An event in which a name recurs: the event's own members keep their names, then its metadata,
 * then its `fields`. What loses its name is kept under `hec`, where it stands as it stood in the
 * envelope; so are members that mean nothing to the protocol. Nothing is lost. Cold.
 */
import { HEC_METADATA } from '../../../src/model/batch/hec-part.ts'
import { unescapeToString } from '../../tape/json-string.ts'
import type { JsonTape } from '../../tape/json-tape.ts'
import { JsonMembers } from '../json-members.ts'
import { EVENT, FIELDS, type HecEnvelope, HOST, INDEX, OPEN_OBJECT } from './hec-envelope.ts'

type Members = Map<string, Buffer>

/**
 * What follows the event's own members, as JSON that begins with a comma; empty for nothing.
 * `eventName`: of an event that is no object.
 */
export function metadataText(
  tape: JsonTape,
  bytes: Uint8Array,
  envelope: HecEnvelope,
  eventName: string | undefined,
  metadataOf: (member: number) => Uint8Array | undefined,
): Buffer {
  const { start, end } = envelope
  const own = eventName === undefined ? membersAt(tape, bytes, start[EVENT]!) : new Map()
  if (eventName !== undefined) own.set(eventName, copyOf(bytes, start[EVENT]!, end[EVENT]!))
  const added: Members = new Map()
  const kept: Members = new Map()
  const place = (name: string, value: Buffer, losers: Members) => {
    const there = own.get(name) ?? added.get(name)
    if (there === undefined) added.set(name, value)
    else if (!there.equals(value)) losers.set(name, value)
  }
  for (let member = HOST; member <= INDEX; member++) {
    const value = metadataOf(member)
    if (value !== undefined) place(HEC_METADATA[member]!, copyOf(value), kept)
  }
  const keptFields: Members = new Map()
  if (start[FIELDS]! >= 0) {
    for (const [name, value] of membersAt(tape, bytes, start[FIELDS]!)) {
      place(name, value, keptFields)
    }
  }
  if (keptFields.size > 0) kept.set('fields', jsonOf(keptFields))
  for (const other of envelope.others) kept.set(other.name, copyOf(bytes, other.start, other.end))
  if (kept.size > 0) added.set(freeName(own, added), jsonOf(kept))
  return added.size === 0 ? Buffer.alloc(0) : Buffer.concat([Buffer.from(','), inside(added)])
}

function freeName(own: Members, added: Members): string {
  let name = 'hec'
  while (own.has(name) || added.has(name)) name += '_'
  return name
}

/** The members of the object at `open`; of those of one name the last. */
function membersAt(tape: JsonTape, bytes: Uint8Array, open: number): Members {
  const found: Members = new Map()
  if (bytes[open] !== OPEN_OBJECT) return found
  const members = new JsonMembers(tape, true)
  members.enter(bytes, open)
  while (members.next()) {
    const { keyStart, keyEnd, valueStart } = members
    const valueEnd = members.skip(valueStart)
    found.set(unescapeToString(bytes, keyStart, keyEnd), copyOf(bytes, valueStart, valueEnd))
  }
  return found
}

/** Out of shared memory, and on one line. */
function copyOf(bytes: Uint8Array, start = 0, end = bytes.length): Buffer {
  const copy = Buffer.from(bytes.subarray(start, end))
  for (let at = copy.indexOf('\n'); at >= 0; at = copy.indexOf('\n', at + 1)) copy[at] = 0x20
  return copy
}

function jsonOf(members: Members): Buffer {
  return Buffer.concat([Buffer.from('{'), inside(members), Buffer.from('}')])
}

function inside(members: Members): Buffer {
  const pieces: Buffer[] = []
  for (const [name, value] of members) {
    const comma = pieces.length > 0 ? ',' : ''
    pieces.push(Buffer.from(`${comma}${JSON.stringify(name)}:`), value)
  }
  return Buffer.concat(pieces)
}
