/**
 * What the token of the person who is signed in may do, as the service tells it: screens offer
 * nothing else. The service judges all the same; while it has not told, everything is offered.
 */
import { computed, signal } from '@preact/signals'
import { SCOPES, type Scope } from '../../src/model/stream.ts'
import { callJson } from './api.ts'
import { session } from './session.ts'

export { SCOPES, type Scope }

/** A token as lists tell it. */
export interface TokenInfo {
  readonly id: string
  readonly name: string
  readonly owner: string
  readonly scopes: readonly Scope[]
  /** Ids of the streams that it is limited to; `*`: no limit. */
  readonly streams: '*' | readonly string[]
  readonly prefix: string
  readonly created_at: string
  readonly expires_at: string | null
  readonly last_used_at: string | null
  readonly revoked_at: string | null
}

const known = signal<{ readonly of: string; readonly own: TokenInfo } | undefined>(undefined)

/** Undefined until it is known of who is signed in now. */
export const ownToken = computed(() => {
  return known.value?.of === session.value ? known.value?.own : undefined
})

/** Never rejects: without an answer everything is offered. */
export async function loadRights(): Promise<void> {
  const asked = session.value
  // Whoever is not known is signed out; what else went wrong is told by what is asked next.
  const own = await callJson<TokenInfo>('me').catch(() => undefined)
  if (asked !== undefined && own !== undefined) known.value = { of: asked, own }
}

export function may(scope: Scope): boolean {
  const { value: own } = ownToken
  return own === undefined || own.scopes.includes(scope) || own.scopes.includes('admin')
}

/** Whether streams may be created and deleted. */
export function mayChangeStreams(): boolean {
  return may('streams:write') && (ownToken.value === undefined || ownToken.value.streams === '*')
}
