/** The parts of a stream's schema: field types, conflicts between them, caps and states. */

/** Types of the field catalog, in the order of their numbers. */
export const FIELD_TYPES = [
  'null',
  'boolean',
  'integer',
  'float',
  'string',
  'array',
  'object',
] as const
export type FieldType = (typeof FIELD_TYPES)[number]

/** Past a soft cap a stream warns; at a hard cap new fields or shapes are skipped, never events. */
export interface SchemaCaps {
  readonly fieldsSoft: number
  readonly fieldsHard: number
  readonly shapesSoft: number
  readonly shapesHard: number
}

export const SCHEMA_CAPS_DEFAULT: SchemaCaps = {
  fieldsSoft: 800,
  fieldsHard: 1_000,
  shapesSoft: 500,
  shapesHard: 1_000,
}

export const LEARNING_STATES = ['ok', 'soft_cap', 'hard_cap'] as const
export type LearningState = (typeof LEARNING_STATES)[number]

export function learningState(
  count: number,
  caps: { readonly soft: number; readonly hard: number },
): LearningState {
  if (count >= caps.hard) return 'hard_cap'
  return count >= caps.soft ? 'soft_cap' : 'ok'
}

export function worseState(a: LearningState, b: LearningState): LearningState {
  return LEARNING_STATES.indexOf(a) > LEARNING_STATES.indexOf(b) ? a : b
}

/** Integers and floats are numbers together, null goes with anything; no other two types agree. */
export function hasTypeConflict(types: readonly FieldType[]): boolean {
  const kinds = types
    .filter((type) => type !== 'null')
    .map((type) => (type === 'integer' || type === 'float' ? 'number' : type))
  return new Set(kinds).size > 1
}

/**
 * One leaf of a described shape, as a worker sends it: path, type, and samples as JSON, separated
 * by U+0000. None of them contains U+0000: it is replaced in paths, and JSON escapes it.
 */
export function encodeLeaf(path: string, type: string, samples: readonly string[]): string {
  let leaf = `${path}\0${type}`
  for (const sample of samples) leaf += `\0${sample}`
  return leaf
}

export interface Leaf {
  readonly path: string
  readonly type: FieldType
  readonly samples: readonly string[]
}

export function decodeLeaf(leaf: string): Leaf {
  const [path = '', type = 'null', ...samples] = leaf.split('\0')
  return { path, type: type as FieldType, samples }
}
