/** Reads server-sent events out of the bytes of a body: here, and in the console. */

export interface ServerEvent {
  readonly name: string
  /** Empty when only the id moved. */
  readonly data: string
  readonly id: string
}

/** The events of a body, by the rules of HTML, "Interpreting an event stream". */
export async function* readServerEvents(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder()
  const reader = body.getReader()
  let rest = ''
  let event = { name: 'message', data: [] as string[], id: '' }
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      const lines = (rest + decoder.decode(value, { stream: true })).split(/\r\n|\n|\r(?!$)/)
      rest = lines.pop()!
      for (const line of lines) {
        if (line === '') {
          // An id alone moves the place from which a later connection goes on.
          if (event.data.length > 0 || event.id !== '') {
            yield { ...event, data: event.data.join('\n') }
          }
          event = { name: 'message', data: [], id: '' }
          continue
        }
        const colon = line.indexOf(':')
        if (colon === 0) continue
        const field = colon < 0 ? line : line.slice(0, colon)
        const text = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
        if (field === 'event') event.name = text
        else if (field === 'data') event.data.push(text)
        else if (field === 'id') event.id = text
      }
    }
  } finally {
    await reader.cancel() // Whoever stops reading ends the connection.
  }
}
