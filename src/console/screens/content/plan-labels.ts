import { words } from '../../format.ts'

const LIMITS: Record<string, string> = {
  seatLimit: 'Seats',
  appLimit: 'Apps',
  keywordLimit: 'Keywords',
  apiRequestLimit: 'API requests',
  competitorLimitPerApp: 'Competitors per app',
  aiMonthlyCreditLimit: 'AI credits',
  storefrontLimit: 'Storefronts',
}

/** `Seats` for `seatLimit`; a custom limit by its own name. */
export function limitName(limit: string): string {
  return LIMITS[limit] ?? words(limit)
}
