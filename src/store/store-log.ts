/** What `store/` needs of a logger; pino's has this shape. Fields never hold values or secrets. */
export interface StoreLog {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}
