/**
 * For `node --import` of a service that is to lose its node number within seconds: registers
 * `hasty-limits.ts`.
 */
import { register } from 'node:module'

register(new URL('hasty-limits.js', import.meta.url))
