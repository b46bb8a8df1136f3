/** What a command is, and the exit codes that scripts rely on. */
import type { ParseArgsConfig } from 'node:util'
import type { Client } from './client.ts'
import type { Terminal } from './terminal.ts'

export const EXIT_OK = 0
/** Nothing was found. */
export const EXIT_NOTHING = 1
export const EXIT_USAGE = 2
/** The service refused, failed, broke off, or did not answer. */
export const EXIT_FAILED = 3

export type Options = NonNullable<ParseArgsConfig['options']>
export type Values = Readonly<Record<string, string | boolean | undefined>>

export interface Invocation {
  readonly client: Client
  readonly terminal: Terminal
  readonly values: Values
  /** The words after the command's name. */
  readonly positionals: readonly string[]
  readonly env: NodeJS.ProcessEnv
  /** Aborted by Ctrl+C. */
  readonly signal: AbortSignal
}

export interface Command {
  /** The words after the command's name, as help shows them. */
  readonly usage: string
  readonly summary: string
  readonly options: Options
  /** What each option means. */
  readonly help: Readonly<Record<string, string>>
  readonly positionalsMax: number
  /** The first word may be a stream. */
  readonly takesStream?: boolean
  /** Words that may stand there as well: what is done. */
  readonly words?: readonly string[]
  /** What options take that take one of a few words. */
  readonly choices?: Readonly<Record<string, readonly string[]>>
  /** The exit code. Throws `UsageError` and `ApiFailure`. */
  readonly run: (invocation: Invocation) => Promise<number>
}

export function textOf(value: string | boolean | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}
