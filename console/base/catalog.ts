/** Fields that events have, as the catalog knows them: found by any part of their names. */
import { callJson } from './api.ts'
import { type EventField, fieldText } from './field.ts'
import { formatShare } from './format.ts'
import { may } from './rights.ts'

export interface FoundField {
  readonly path: string
  /** As a query writes it. */
  readonly name: string
  readonly types: readonly string[]
  readonly share: number | null
}

export interface FoundFields {
  readonly fields: readonly FoundField[]
  readonly nearest: readonly FoundField[]
  /** False: there may be fields that were never learned. */
  readonly complete: boolean
}

/** Which fields a place takes. */
export interface FieldKind {
  readonly type?: string
  /** Not what is in arrays of objects. */
  readonly isCounted?: boolean
  readonly objects?: boolean
}

const SHOWN_MAX = 12

/**
 * In one stream, or in all that the token sees. Rejects when the service does not answer, and for a
 * token that may not see what streams have.
 */
export async function findFields(
  streamId: string | undefined,
  contains: string,
  { type, isCounted, objects }: FieldKind,
  signal: AbortSignal,
): Promise<FoundFields> {
  if (!may('streams:read')) throw new Error('a token without streams:read sees no fields')
  const query = {
    streams: streamId,
    contains,
    type,
    objects,
    in_arrays: isCounted ? false : undefined,
    limit: SHOWN_MAX,
  }
  return await callJson<FoundFields>('fields', { query, signal })
}

/** `integer, string · 42 %`. */
export function fieldNote(types: readonly string[] = [], share?: number | null): string {
  return [...(types.length > 0 ? [types.join(', ')] : []), ...shareOf(share)].join(' · ')
}

function shareOf(share: number | null | undefined): readonly string[] {
  return share === null || share === undefined ? [] : [formatShare(share)]
}

/** A field that no event has, and what may have been meant. */
export interface UnknownField {
  readonly field: EventField
  readonly nearest: readonly FoundField[]
  readonly complete: boolean
}

/** Of `fields` those that the catalog does not have. */
export async function findUnknown(
  streamId: string | undefined,
  fields: readonly EventField[],
  signal: AbortSignal,
): Promise<readonly UnknownField[]> {
  const looked = fields.map(async (field): Promise<readonly UnknownField[]> => {
    if (field.kind !== 'path') return []
    const path = field.parts.join('[].')
    const found = await findFields(streamId, path, { objects: true }, signal)
    if (found.fields.some((one) => one.path === path)) return []
    return [{ field, nearest: [...found.fields, ...found.nearest], complete: found.complete }]
  })
  return (await Promise.all(looked)).flat()
}

/** `No event of this stream has foo.bar`, as far as that is known. */
export function unknownText(
  streamId: string | undefined,
  field: EventField | string,
  isComplete: boolean,
): string {
  const whose = streamId === undefined ? 'these streams' : 'this stream'
  const name = typeof field === 'string' ? field : fieldText(field)
  return isComplete
    ? `No event of ${whose} has ${name}`
    : `No field of ${whose} that was learned is ${name}, and not all were learned`
}
