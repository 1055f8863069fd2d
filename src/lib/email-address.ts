import { domainToASCII } from 'node:url'

const MAX_LENGTH = 254
const MAX_LOCAL_LENGTH = 64
const MAX_DOMAIN_LENGTH = 253
/** An atom of RFC 5322, with the characters beyond ASCII that RFC 6531 adds. */
const ATOM = "(?:[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]|[^\\p{ASCII}\\p{C}\\p{Z}])+"
const DOT_STRING = new RegExp(`^${ATOM}(?:\\.${ATOM})*$`, 'u')
/** What may stand in a domain before IDNA has judged it: the URL parser would take more. */
const DOMAIN_INPUT = /^(?:[A-Za-z0-9.-]|[^\p{ASCII}\p{C}\p{Z}])+$/u
const LABEL = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?'
const DOMAIN = new RegExp(`^${LABEL}(?:\\.${LABEL})*$`)

/**
 * The mailbox that an address names, or null when the text is not one bare address: RFC 5321 Dot-string
 * and domain, without quotes, comments, display name or list. Compatibility forms (full-width letters)
 * are those that they stand for; the domain is lower-case ASCII (IDNA) without a trailing dot.
 */
export function mailboxOf(text: string): string | null {
  const plain = text.normalize('NFKC')
  if (text.length > MAX_LENGTH || plain.length > MAX_LENGTH || !plain.isWellFormed()) return null
  const [local = '', typedDomain = '', ...rest] = plain.split('@')
  if (rest.length > 0 || local.length > MAX_LOCAL_LENGTH || !DOT_STRING.test(local)) return null
  const domain = asciiDomain(typedDomain)
  const mailbox = `${local}@${domain}`
  return domain === null || mailbox.length > MAX_LENGTH ? null : mailbox
}

/** The form in which addresses are compared: without regard to case. Text that is no address keeps its own. */
export function emailKeyOf(text: string): string {
  return (mailboxOf(text) ?? text.normalize('NFC')).toLowerCase().normalize('NFC')
}

function asciiDomain(text: string): string | null {
  if (!DOMAIN_INPUT.test(text)) return null
  const domain = domainToASCII(text).replace(/\.$/, '')
  const isNumeric = /(^|\.)\d+$/.test(domain)
  return domain.length <= MAX_DOMAIN_LENGTH && !isNumeric && DOMAIN.test(domain) ? domain : null
}
