/**
 * Which stream the page begins with when the address names none: the one that was shown last. From
 * then on the address names it, as it holds all other state.
 */
import { keep, readKept } from '../base/kept.ts'
import { go, href } from '../base/route.ts'
import { findStream, streams } from '../base/stream.ts'

const KEY = 'sluice.stream'
const NOWHERE = /^(#\/?)?$/

/** The address says nothing of what to show. */
export function isNowhere(): boolean {
  return NOWHERE.test(location.hash)
}

export function rememberStream(id: string): void {
  keep(KEY, id)
}

/** Before the list of streams is there: what was looked at last is asked for at once. */
export function goToRememberedStream(): void {
  const id = readKept(KEY)
  if (id !== undefined && isNowhere()) go(href('explore', id), 'replace')
}

/** With the list: the only stream if there is one, and none that is not there any more. */
export function goToOnlyStream(): void {
  const { value: all } = streams
  if (all === undefined) return
  const remembered = readKept(KEY)
  const isGone = remembered !== undefined && findStream(remembered) === undefined
  if (isGone) keep(KEY, undefined)
  const isThere = isGone && location.hash === href('explore', remembered)
  if (!isThere && !isNowhere()) return
  go(href('explore', all.length === 1 ? all[0]!.id : undefined), 'replace')
}
