import { domainToASCII, domainToUnicode } from 'node:url'

const MAX_LENGTH = 254
const MAX_LOCAL_LENGTH = 64
const MAX_DOMAIN_LENGTH = 253
/** An atom of RFC 5322, with the characters beyond ASCII that RFC 6531 adds. */
const ATOM = "(?:[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]|[^\\p{ASCII}\\p{C}\\p{Z}])+"
const DOT_STRING = new RegExp(`^${ATOM}(?:\\.${ATOM})*$`, 'u')
/** The characters allowed in a domain before IDNA: the URL parser would accept more. */
const DOMAIN_INPUT = /^(?:[A-Za-z0-9.-]|[^\p{ASCII}\p{C}\p{Z}])+$/u
const LABEL = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?'
const DOMAIN = new RegExp(`^${LABEL}(?:\\.${LABEL})*$`)

/**
 * The mailbox of a bare address (RFC 5321 Dot-string and domain), or null. Normalizes compatibility forms such as
 * full-width letters, and the domain to lower-case ASCII (IDNA) without a trailing dot.
 */
export function parseMailbox(text: string): string | null {
  const plain = text.normalize('NFKC')
  if (text.length > MAX_LENGTH || plain.length > MAX_LENGTH || !plain.isWellFormed()) return null
  const [local = '', typedDomain = '', ...rest] = plain.split('@')
  if (rest.length > 0 || local.length > MAX_LOCAL_LENGTH || !DOT_STRING.test(local)) return null
  const domain = toAsciiDomain(typedDomain)
  const mailbox = `${local}@${domain}`
  return domain === null || mailbox.length > MAX_LENGTH ? null : mailbox
}

/** An address without the white space and invisible characters that keyboards and clipboards put around it. */
export function trimAddress(text: string): string {
  return /[^\s\p{Cc}\p{Z}\p{DI}](?:.*[^\s\p{Cc}\p{Z}\p{DI}])?/su.exec(text)?.[0] ?? ''
}

/** What an operator has pasted, without its wrapping: `Ann <ann@example.com>`, `order: 2000000123456789`. */
export function parseSearchText(text: string): string {
  const [, address] = /<([^<>\s]+@[^<>\s]+)>\s*$/.exec(text) ?? []
  return (
    address ??
    text.replace(/^\s*(?:order|transaction|receipt|purchase)(?: (?:id|number))?\s*[:#]\s*/i, '')
  )
}

/** An address, or part of one, from a query: an unencoded plus sign arrives as a space, which no address contains. */
export function queriedAddress(text: string): string {
  const trimmed = trimAddress(text)
  return trimmed.includes('@') ? trimmed.replaceAll(' ', '+') : trimmed
}

/**
 * Whether an address is in its normal form, apart from case and IDNA: for any other form, a provider may have verified a
 * different mailbox.
 */
export function isNormalAddress(text: string): boolean {
  // Either form will do: characters such as the Kelvin sign change in both.
  const isNormalized = ['NFKC', 'NFKD'].some((form) => text.normalize(form) === text)
  const [local = '', domain = ''] = parseMailbox(text)?.split('@') ?? []
  const typed = text.normalize('NFC').toLowerCase()
  const spellings = [domain, domainToUnicode(domain)].map((one) => toEmailKey(`${local}@`) + one)
  return isNormalized && domain !== '' && spellings.includes(typed)
}

/** The form for comparing addresses, which ignores case. Text that is not an address is otherwise unchanged. */
export function toEmailKey(text: string): string {
  const address = trimAddress(text)
  return (parseMailbox(address) ?? address.normalize('NFC')).toLowerCase().normalize('NFC')
}

/** The beginning of the comparison form of addresses that begin with `text`. */
export function toEmailPrefix(text: string): string {
  return trimAddress(text).normalize('NFKC').toLowerCase()
}

function toAsciiDomain(text: string): string | null {
  if (!DOMAIN_INPUT.test(text)) return null
  const domain = domainToASCII(text).replace(/\.$/, '')
  const isNumeric = /(^|\.)\d+$/.test(domain)
  return domain.length <= MAX_DOMAIN_LENGTH && !isNumeric && DOMAIN.test(domain) ? domain : null
}
