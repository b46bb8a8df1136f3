/** The command line is wrong; the message says what to type. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
