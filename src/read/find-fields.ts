/**
 * Fields by a part of their names, for who does not know them by heart: the best first, over one
 * stream or several, with their types and the share of events that have them.
 */
import { mainTurns } from '../api/main-turns.ts'
import { writeField } from '../language/format.ts'
import { editDistance, nearest } from '../language/near-words.ts'
import { isQueryablePath } from '../language/parse-field.ts'
import { compareRanked, FirstOf, foldName, matchRank } from '../model/match-names.ts'
import { FIELD_TYPES, type FieldType } from '../model/schema.ts'
import type { Stream } from '../model/stream.ts'
import type { FieldIndex, IndexedField, IndexedStream } from '../store/catalog/field-index.ts'

export type FieldSource = Pick<FieldIndex, 'load'>

export interface FieldWish {
  /** Somewhere in the path, without regard to case; empty: all. */
  readonly contains: string
  readonly limit: number
  /** `number`: integers or floats. */
  readonly type?: FieldType | 'number' | undefined
  /** Also what is in arrays of objects, which can be neither grouped by nor shown as a column. */
  readonly inArrays: boolean
  /** Also objects, which have no values of their own. */
  readonly objects: boolean
}

export interface FoundField {
  /** As in the catalog. */
  readonly path: string
  /** As a query writes it. */
  readonly name: string
  readonly types: readonly FieldType[]
  /** Of the events of all these streams, from 0 to 1; null where it is not known. */
  readonly share: number | null
  /** In how many of the streams it is. */
  readonly streams: number
}

export interface FoundFields {
  readonly fields: readonly FoundField[]
  /** All that fit. */
  readonly total: number
  /** Where none fits: those whose names are like it. */
  readonly nearest: readonly FoundField[]
  /** False: there may be fields that were not looked at, or never learned. */
  readonly complete: boolean
}

/** A field, of all streams together. */
interface Joined {
  readonly field: IndexedField
  readonly types: Set<FieldType>
  events: number
  streams: number
}

/** Fields that are looked at in one turn of the main thread. */
const FIELDS_A_TURN = 5_000
/** Near names are looked for among so many at a time. */
const NEAR_A_TURN = 500
const NEAR_MAX = 5
const NEAR_CHARS_MAX = 64

export async function findFields(
  source: FieldSource,
  streams: readonly Pick<Stream, 'streamId'>[],
  wish: FieldWish,
): Promise<FoundFields> {
  const { streams: indexed, isCut } = await source.load(streams.map(({ streamId }) => streamId))
  const part = foldName(wish.contains)
  const fitting = await join(indexed, wish, ({ folded }) => matchRank(folded, part) !== undefined)
  const events = indexed.reduce((sum, { counts }) => sum + counts.events, 0)
  const shareOf = (joined: Joined) => (joined.events === 0 ? undefined : joined.events / events)
  const best = new FirstOf(wish.limit, compareRanked)
  for (const joined of fitting.values()) {
    const { folded, path } = joined.field
    best.add({ name: path, rank: matchRank(folded, part)!, share: shareOf(joined) })
  }
  const isNone = fitting.size === 0 && part !== ''
  const near = isNone
    ? await nearTo(part.slice(0, NEAR_CHARS_MAX), (await join(indexed, wish, () => true)).values())
    : []
  return {
    fields: best.kept.map(({ name }) => tell(fitting.get(name)!, shareOf)),
    total: fitting.size,
    nearest: near.map((joined) => tell(joined, shareOf)),
    complete: !isCut && indexed.every(({ isPartial }) => !isPartial),
  }
}

/** Fields of all streams together, by their paths. */
async function join(
  streams: readonly IndexedStream[],
  wish: FieldWish,
  fits: (field: IndexedField) => boolean,
): Promise<ReadonlyMap<string, Joined>> {
  const all = new Map<string, Joined>()
  let looked = 0
  for (const { fields, counts } of streams) {
    for (const field of fields) {
      if (++looked % FIELDS_A_TURN === 0) await mainTurns.next()
      if (!fits(field) || !isWanted(field, wish)) continue
      const joined = all.get(field.path) ?? { field, types: new Set(), events: 0, streams: 0 }
      all.set(field.path, joined)
      for (const type of field.types) joined.types.add(type)
      joined.events += counts.of(field.path)?.events ?? 0
      joined.streams++
    }
  }
  return all
}

function isWanted({ types, parts }: IndexedField, wish: FieldWish): boolean {
  if (parts === undefined || !isQueryablePath(parts)) return false
  if (!wish.inArrays && parts.length > 1) return false
  const { type } = wish
  if (type === 'number') return types.includes('integer') || types.includes('float')
  if (type !== undefined && !types.includes(type)) return false
  return types.some((each) => each !== 'null' && (wish.objects || each !== 'object'))
}

function tell(joined: Joined, shareOf: (joined: Joined) => number | undefined): FoundField {
  const { field, types, streams } = joined
  return {
    path: field.path,
    name: writeField({ kind: 'path', parts: field.parts!, start: 0, end: 0 }),
    types: FIELD_TYPES.filter((type) => types.has(type)),
    share: shareOf(joined) ?? null,
    streams,
  }
}

/** Like it as a whole, or by the last name alone. */
async function nearTo(part: string, all: Iterable<Joined>): Promise<readonly Joined[]> {
  let best: Joined[] = []
  let some: Joined[] = []
  const farFrom = ({ field }: Joined) => editDistance(part, field.folded.slice(0, NEAR_CHARS_MAX))
  const judge = () => {
    const known = [...best, ...some]
    const whole = nearest(part, known, ({ field }) => field.folded)
    const last = nearest(lastName(part), known, ({ field }) => lastName(field.folded))
    const like = [...new Set([...whole, ...last])]
    best = like.sort((a, b) => farFrom(a) - farFrom(b)).slice(0, NEAR_MAX)
    some = []
  }
  for (const joined of all) {
    some.push(joined)
    if (some.length < NEAR_A_TURN) continue
    judge()
    await mainTurns.next()
  }
  judge()
  return best
}

function lastName(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1)
}
