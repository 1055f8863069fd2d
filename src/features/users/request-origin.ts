import type { Device } from '../../platform/http/request-headers.ts'

/** Where a request comes from: an IP, the device by its own word, and what URLs of files begin with there. */
export type RequestOrigin = { ip: string; device: Device; baseUrl: string }
