/** Fields by a part of their names, over one stream or several, for input boxes. */
import { nullable, type ObjectSchema } from '../api/schema.ts'
import type { Route } from '../http/exchange.ts'
import { answerJson, type Guard, guardRoute, jsonAnswer } from '../http/guard.ts'
import { FIELDS_FOUND_DEFAULT, FIELDS_FOUND_MAX } from '../limits.ts'
import { FIELD_TYPES, type FieldType } from '../model/schema.ts'
import { type FieldSource, findFields } from '../read/find-fields.ts'
import {
  findStreams,
  type StreamFinder,
  type StreamSource,
  splitStreams,
} from '../read/find-streams.ts'
import { STREAMS_TEXT } from '../read/schemas.ts'
import { readFieldPath } from './fields.ts'

export interface FoundFieldsDeps extends Guard {
  readonly streams: StreamFinder & StreamSource
  readonly fieldIndex: FieldSource
}

const QUERY = {
  properties: {
    streams: STREAMS_TEXT,
    contains: {
      type: 'string',
      default: '',
      description: 'What the paths have somewhere; the case of A to Z does not matter',
    },
    type: {
      type: 'string',
      enum: [...FIELD_TYPES, 'number'],
      description: 'Only fields that have this type; `number`: integers or floats',
    },
    in_arrays: {
      type: 'boolean',
      default: true,
      description: '`false`: nothing in arrays of objects, as groups and columns need it',
    },
    objects: {
      type: 'boolean',
      default: false,
      description: '`true`: objects as well, which have no values of their own',
    },
    limit: {
      type: 'integer',
      minimum: 1,
      maximum: FIELDS_FOUND_MAX,
      default: FIELDS_FOUND_DEFAULT,
      description: 'Fields of the answer',
    },
  },
} as const

const FIELD: ObjectSchema = {
  type: 'object',
  properties: {
    path: { type: 'string' },
    name: { type: 'string', description: 'As a query writes it' },
    types: { type: 'array', items: { type: 'string', enum: FIELD_TYPES } },
    share: nullable(
      { type: 'number' },
      { description: 'Of the events of all these streams, from 0 to 1; null: not known' },
    ),
    streams: { type: 'integer', description: 'In how many of the streams it is' },
  },
}
const FOUND: ObjectSchema = {
  type: 'object',
  properties: {
    fields: { type: 'array', items: FIELD },
    total: { type: 'integer', description: 'All that fit' },
    nearest: {
      type: 'array',
      items: FIELD,
      description: 'Where none fits: up to 5 whose names are like it',
    },
    complete: {
      type: 'boolean',
      description: 'False: a stream has fields that were never learned or not looked at',
    },
  },
}

export function foundFieldsRoutes({ streams, fieldIndex, ...guard }: FoundFieldsDeps): Route[] {
  return [
    guardRoute(guard, {
      method: 'GET',
      pattern: '/v1/fields',
      operationId: 'findFields',
      summary: 'Find fields by a part of their names, over several streams',
      tag: 'Catalog',
      query: QUERY,
      answers: { 200: jsonAnswer('The best first', FOUND) },
      scope: 'streams:read',
      run: async ({ principal, query }) => {
        const { contains = '', type, in_arrays: inArrays = true, objects = false } = query
        const wish = {
          contains: readFieldPath(contains as string),
          limit: Number(query.limit ?? FIELDS_FOUND_DEFAULT),
          type: type as FieldType | 'number' | undefined,
          inArrays: inArrays === true,
          objects: objects === true,
        }
        const asked = splitStreams(String(query.streams ?? '*'))
        const found = await findStreams(streams, principal, asked)
        return answerJson(200, FOUND, await findFields(fieldIndex, found, wish))
      },
    }),
  ]
}
