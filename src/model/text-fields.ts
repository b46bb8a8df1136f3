/**
 * Text fields: those of a stream's fields that hold prose. Bare words and phrases of a query search
 * them, word by word and ignoring case; the projection has a text index over them. Every other
 * string is compared exactly. The stream's setting `text_fields` lists them.
 */

/** Paths where loggers and collectors put messages and stack traces. */
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
