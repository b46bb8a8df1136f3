/** Facets: the most frequent values of several fields at once. */
import type { Schema } from '../../api/schema.ts'
import { FACET_FIELDS_MAX, FACET_VALUES_DEFAULT, FACET_VALUES_MAX } from '../../limits.ts'
import type { FieldRef } from '../../model/aggregates.ts'
import { honestMembers, UNLEARNED } from '../answer-coverage.ts'
import { countedFor, missesPaths } from '../depends-on-catalog.ts'
import type { AskedStreams, OpenStreams } from '../read-deps.ts'
import { type ReadMembers, type ReadRequest, readRequest } from '../read-request.ts'
import { READ_PROPERTIES } from '../schemas.ts'
import { countFacets, type FacetStores } from './facet-counts.ts'
import { readFieldRef } from './field-ref.ts'
import { groupJson } from './group-json.ts'

const FIELDS_DEFAULT = ['_level', '_service'] as const

export const FACETS_PROPERTIES = {
  ...READ_PROPERTIES,
  fields: {
    type: 'array',
    items: { type: 'string' },
    minItems: 1,
    maxItems: FACET_FIELDS_MAX,
    default: FIELDS_DEFAULT,
    description: 'Dotted paths, `_stream`, `_level`, `_service`, `_shape`, `_pattern`',
  },
  limit: {
    type: 'integer',
    minimum: 1,
    maximum: FACET_VALUES_MAX,
    default: FACET_VALUES_DEFAULT,
    description: 'How many values of each field',
  },
} as const satisfies Readonly<Record<string, Schema>>

export interface FacetsRequest extends ReadRequest {
  readonly fields: readonly FieldRef[]
  /** As they were written. */
  readonly names: readonly string[]
  readonly limit: number
}

/** `members` are as `FACETS_PROPERTIES` say. Throws `malformed`. */
export function readFacetsRequest(members: ReadMembers, nowMs: number): FacetsRequest {
  const { fields = FIELDS_DEFAULT, limit = FACET_VALUES_DEFAULT } = members
  const names = fields as readonly string[]
  return {
    ...readRequest(members, nowMs),
    fields: names.map((name, index) => readFieldRef(`fields[${index}]`, name)),
    names,
    limit: limit as number,
  }
}

export interface FacetsDeps extends FacetStores {
  readonly openStreams: OpenStreams
  readonly nowMs: () => number
}

/** The answer as JSON. `signal` ends it. Throws `malformed`, `unavailable`. */
export async function facets(
  { openStreams, nowMs, ...stores }: FacetsDeps,
  request: FacetsRequest,
  streams: AskedStreams,
  signal: AbortSignal,
): Promise<string> {
  const startMs = performance.now()
  const opened = await openStreams(streams)
  const { sources } = opened
  const { asOfMs, ...counted } = countedFor([request.query], opened)
  const result = await countFacets(stores, { ...request, ...counted, streams: sources }, signal)
  const { facets: found, events, oldestNs } = result
  const shown = request.names.map((name, index) => {
    const { values, present, distinct, isEstimated } = found[index]!
    const told = values.map(({ value, count }) => `{"value":${groupJson(value)},"count":${count}}`)
    const head = JSON.stringify({ field: name, events: present, distinct, estimated: isEstimated })
    return `${head.slice(0, -1)},"values":[${told.join(',')}]}`
  })
  const honesty = honestMembers({
    asOfMs,
    nowMs: nowMs(),
    isSampled: oldestNs !== undefined,
    ...(missesPaths([request.query], sources) && { shortfall: UNLEARNED }),
  })
  const covered = oldestNs === undefined ? null : sampledRange(oldestNs, request.toNs)
  const elapsed = Math.round((performance.now() - startMs) * 10) / 10
  const tail = { events, ...honesty, covered, stats: { elapsed_ms: elapsed } }
  return `{"facets":[${shown.join(',')}],${JSON.stringify(tail).slice(1)}`
}

/** The range of the events that represent all of them. */
function sampledRange(fromNs: bigint, toNs: bigint) {
  return honestMembers({
    shortfall: { reason: '', covered: { fromNs, toNs } },
    asOfMs: 0,
    nowMs: 0,
  }).covered
}
