/** Keys that work anywhere but where something is typed. */

export type KeyAction =
  | 'query'
  | 'time'
  | 'live'
  | 'refresh'
  | 'group'
  | 'explain'
  | 'patterns'
  | 'histogram'
  | 'export'
  | 'share'
  | 'order'
  | 'alert'
  | 'palette'
  | 'help'

const ACTIONS: Readonly<Record<string, KeyAction>> = {
  '/': 'query',
  t: 'time',
  l: 'live',
  r: 'refresh',
  g: 'group',
  d: 'explain',
  m: 'patterns',
  h: 'histogram',
  e: 'export',
  s: 'share',
  o: 'order',
  w: 'alert',
  '?': 'help',
}

/** What a key asks for, if anything. */
export function keyAction(event: KeyboardEvent): KeyAction | undefined {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') return 'palette'
  if (event.defaultPrevented || isTyping(event)) return undefined
  if (event.ctrlKey || event.metaKey || event.altKey) return undefined
  return ACTIONS[event.key]
}

/** Whether the key goes into something that is being typed, or a dialog is open. */
export function isTyping({ target }: Event): boolean {
  const isInput = target instanceof HTMLElement && target.matches('input, textarea, select')
  return isInput || document.querySelector('dialog[open]') !== null
}
