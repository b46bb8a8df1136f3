/** Bulk bodies judged the plain way, with JSON.parse and objects: our decoder must agree. */

export interface ModelItem {
  readonly operation: string
  readonly index: string
  /** As sent; undefined for one of ours, or for none in an error. */
  readonly id: string | undefined
  /** Undefined when the event was stored. */
  readonly errorType: string | undefined
  /** The stored event by value. */
  readonly event: string | undefined
}

type Json = Record<string, unknown>

const DOCUMENT_ERROR = 'document_parsing_exception'
const ACTION_ERROR = 'illegal_argument_exception'
const OPERATIONS: readonly string[] = ['index', 'create', 'update', 'delete']
const TOKEN = /"(?:\\.|[^"\\])*"?|[{}[\],:]|[^ \t\r"{}[\],:]+|[ \t\r]+/g

/** The operation of a line that looks like an action, valid JSON or not. */
export function modelOperation(line: string): string | undefined {
  const tokens = (line.match(TOKEN) ?? []).filter((token) => !/^[ \t\r]/.test(token))
  if (tokens[0] !== '{') return undefined
  let at = 1
  for (;;) {
    const key = tokens[at] ?? ''
    if (!/^"(\\.|[^"\\])*"$/.test(key) || tokens[at + 1] !== ':') return undefined
    at += 2
    const operation = key.slice(1, -1)
    if (OPERATIONS.includes(operation) && tokens[at] === '{') return operation
    for (let depth = 0; at < tokens.length; at++) {
      const token = tokens[at] ?? ''
      if (depth === 0 && (token === ',' || token === '}')) break
      if (token === '{' || token === '[') depth++
      if (token === '}' || token === ']') depth--
    }
    if (tokens[at] !== ',') return undefined
    at++
  }
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Json {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}

function asText(value: unknown): string | undefined {
  return value === null || value === undefined ? undefined : String(value)
}

/** The items of a body, in order. */
export function modelBulk(body: string, defaultIndex = ''): ModelItem[] {
  const lines = body.split('\n').map((line) => line.replace(/^[ \t\r]+|[ \t\r]+$/g, ''))
  const left = lines.filter((line) => line !== '')
  const items: ModelItem[] = []
  for (let at = 0; at < left.length; ) {
    const line = left[at++] ?? ''
    const operation = modelOperation(line)
    const item = { operation: operation ?? 'index', index: defaultIndex, id: undefined }
    const failed = (errorType: string) => ({ ...item, errorType, event: undefined })
    if (operation === undefined) {
      items.push(failed(ACTION_ERROR))
      if (at < left.length && modelOperation(left[at] ?? '') === undefined) at++
      continue
    }
    const action = tryParse(line) as Json | undefined
    const document = operation === 'delete' ? undefined : left[at++]
    items.push(action === undefined ? failed(ACTION_ERROR) : judge(action, document, item))
  }
  return items
}

function judge(
  action: Json,
  document: string | undefined,
  item: Pick<ModelItem, 'operation' | 'index' | 'id'>,
): ModelItem {
  const meta = action[item.operation] as Json
  const isBad = [meta._index, meta._id].some((value) => value !== null && typeof value === 'object')
  const named = {
    operation: item.operation === 'index' && meta.op_type === 'create' ? 'create' : item.operation,
    index: asText(meta._index) ?? item.index,
    id: asText(meta._id),
  }
  const failed = (errorType: string) => ({ ...named, errorType, event: undefined })
  // Whichever of the two is bad, the other is read.
  if (isBad) {
    const index = typeof meta._index === 'object' ? item.index : named.index
    const id = typeof meta._id === 'object' ? undefined : named.id
    return { ...failed(ACTION_ERROR), index, id }
  }
  if (document === undefined) return failed(ACTION_ERROR)
  let event = tryParse(document)
  if (!isObject(event)) return failed(DOCUMENT_ERROR)
  if (item.operation === 'update') {
    event = event.doc ?? event.upsert
    if (event === undefined || event === null) return failed(ACTION_ERROR)
    if (!isObject(event)) return failed(DOCUMENT_ERROR)
  }
  return { ...named, errorType: undefined, event: JSON.stringify(event) }
}
