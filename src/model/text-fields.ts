/**
 * Text fields: those of a stream's fields that hold prose. Bare words and phrases of a query search
 * them, word by word and in any case; the projection has a text index over them. Every other string
 * is compared exactly. Which they are is a setting of the stream, `text_fields`.
 */

/** Paths that loggers and collectors put messages and stack traces at. */
export const TEXT_FIELDS_DEFAULT: readonly string[] = [
  'message',
  'msg',
  'body',
  'log',
  'log._raw',
  'text',
  'error.message',
  'error.stack_trace',
  'exception.message',
  'exception.stacktrace',
  'attributes.exception.message',
  'attributes.exception.stacktrace',
]
