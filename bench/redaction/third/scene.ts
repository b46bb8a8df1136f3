/** An event of some service in which its developers leak a secret. */
import type { DrawSecret } from './drawing.ts'

export type SecretClass =
  | 'names in events'
  | 'name and value pairs'
  | 'JSON in strings'
  | 'headers in text'
  | 'cookies'
  | 'URLs and forms'
  | 'connection strings'
  | 'pairs in text'
  | 'dumps in text'
  | 'command lines'
  | 'keys and JWTs'

export interface Scene {
  readonly kind: SecretClass
  /** Service and place. */
  readonly name: string
  readonly draw: DrawSecret
  readonly event: (secret: string) => object
  /** Text beside the secret that has to stay. */
  readonly keeps?: readonly string[]
}

export type SceneRow = readonly [
  kind: SecretClass,
  name: string,
  draw: DrawSecret,
  event: (secret: string) => object,
  keeps?: readonly string[],
]

export function scenes(service: string, rows: readonly SceneRow[]): Scene[] {
  return rows.map(([kind, name, draw, event, keeps]) => {
    const scene = { kind, name: `${service}: ${name}`, draw, event }
    return keeps === undefined ? scene : { ...scene, keeps }
  })
}

export type LineRow = readonly [
  kind: SecretClass,
  name: string,
  draw: DrawSecret,
  /** `§` is where the secret stands. */
  line: string,
]

/** Scenes that are a line of text under `key`. */
export function lineScenes(service: string, key: string, rows: readonly LineRow[]): Scene[] {
  return scenes(
    service,
    rows.map(([kind, name, draw, line]): SceneRow => {
      return [kind, name, draw, (secret) => ({ [key]: line.replace('§', () => secret) })]
    }),
  )
}

/** JSON as it stands in a string of the event: what `keeps` looks for. */
export function kept(name: string, value: unknown): string {
  return JSON.stringify(JSON.stringify({ [name]: value })).slice(2, -2)
}
