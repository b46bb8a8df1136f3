import { bulk } from './bulk.ts'
import { hec } from './hec.ts'
import { json } from './json.ts'
import { loki } from './loki.ts'
import { otlp } from './otlp.ts'
import type { Surface } from './surface.ts'
import { text } from './text.ts'

const SURFACES: readonly Surface[] = [json, text, bulk, otlp, hec, loki]

export function findSurface(name: string): Surface {
  const surface = SURFACES.find((candidate) => candidate.name === name)
  if (surface !== undefined) return surface
  throw new Error(`no surface ${name}; there are ${SURFACES.map((known) => known.name).join(', ')}`)
}
