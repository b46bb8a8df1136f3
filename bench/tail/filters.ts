/** Queries of people who look for something: each matches some events in ten thousand. */
import { SERVICES } from '../corpus-words.ts'

export function filterOf(tail: number): string {
  const service = SERVICES[tail % SERVICES.length]
  const filters = [
    `level:error http.status:>=500 service:${service} user.tier:enterprise`,
    `service:${service} http.status:503 trace.sampled:true region:us-west-2`,
    `http.url:/api/v1/payments/* service:${service} level:(warn OR error) -cached:true`,
    `message:/attempt \\d+ of 5/ service:${service} http.duration_ms:>=${100 + tail}`,
  ]
  return filters[tail % filters.length]!
}
