import { AppError } from '../../lib/errors.ts'
import { plainVersion } from '../../lib/text/versions.ts'
import { readToken, type Session } from '../../platform/http/authenticate.ts'
import { isSealed } from '../../platform/http/body/opened-request.ts'
import type { FindCountry } from '../../platform/http/request/client-address.ts'
import {
  optionalHeader,
  readAppPlatform,
  readDevicePlatform,
  readLanguages,
} from '../../platform/http/request/request-headers.ts'
import type { Audience, Trait } from './rules/conditions.ts'

export type AudienceDeps = {
  /** Null for none. */
  countryHeader: string | null
  findCountry: FindCountry
  checkSession: (accessToken: string, sealed: boolean) => Promise<Session>
  /** Null for none. */
  findPlanCode: (userId: string) => Promise<string | null>
}

export function createAudienceReader(deps: AudienceDeps) {
  const { countryHeader, findCountry, checkSession, findPlanCode } = deps
  const headers: Record<Trait, string[]> = {
    platform: ['App-Platform'],
    version: ['App-Version'],
    language: ['Accept-Language'],
    country: countryHeader === null ? [] : [countryHeader],
    plan: ['Authorization'],
    id: ['Authorization', 'Device-Id'],
  }
  return { read, headersFor }

  async function read(request: Request, traits: Trait[]): Promise<Audience> {
    const { headers } = request
    const userId = traits.some((trait) => trait === 'plan' || trait === 'id')
      ? await findUserId(request)
      : null
    return {
      platform: readAppPlatform(headers) ?? readDevicePlatform(headers),
      version: plainVersion(optionalHeader(headers, 'app-version') ?? ''),
      languages: readLanguages(headers),
      country: findCountry(request),
      plan: userId !== null && traits.includes('plan') ? await findPlanCode(userId) : null,
      // The user's id if signed in, so that all of the user's devices get the same values.
      id: userId ?? optionalHeader(headers, 'device-id')?.slice(0, 200) ?? null,
    }
  }

  function headersFor(traits: Trait[], request: Request): string[] {
    const names = traits.flatMap((trait) => {
      const usesDevice = trait === 'platform' && readAppPlatform(request.headers) === null
      return usesDevice ? [...headers[trait], 'Device'] : headers[trait]
    })
    return [...new Set(names)]
  }

  async function findUserId(request: Request): Promise<string | null> {
    const token = readToken(request.headers.get('authorization'))
    const session = token && (await checkSession(token, isSealed(request)).catch(nullIfRefused))
    return session ? session.userId : null
  }
}

const REFUSALS = ['unauthenticated', 'token_expired', 'encryption_required']

/** A refused token must not block the settings, but a failed check must not look like a refusal. */
function nullIfRefused(error: unknown): null {
  if (error instanceof AppError && REFUSALS.includes(error.code)) return null
  throw error
}
