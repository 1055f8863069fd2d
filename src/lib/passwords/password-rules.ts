import { invalidField } from '../errors.ts'

const MAX_LENGTH = 256

let common: Set<string> | null = null

/** Refuses short and common passwords (49,000) and the user's own address or name. `field`: the path in the request. */
export async function checkPassword(
  password: string,
  {
    minLength,
    email,
    name,
    field,
  }: { minLength: number; email: string; name: string; field: string },
) {
  const problem = await findProblem(password, minLength, [email, email.split('@')[0] ?? '', name])
  if (problem !== null) throw invalidField(field, problem, `The password ${problem}.`)
}

async function findProblem(
  password: string,
  minLength: number,
  personal: string[],
): Promise<string | null> {
  const normalized = password.normalize('NFC')
  if ([...normalized].length > MAX_LENGTH) return `must have ${MAX_LENGTH} characters or fewer`
  // Counted as users count them: the family emoji is one character of seven code points.
  const characters = Array.from(new Intl.Segmenter().segment(normalized), ({ segment }) => segment)
  if (characters.length < minLength) return `must have ${minLength} characters or more`
  const plain = normalized.toLowerCase()
  if (personal.some((text) => text.length > 0 && text.normalize('NFC').toLowerCase() === plain)) {
    return 'must not be your address or name'
  }
  if (new Set(characters).size === 1) return 'must not repeat a single character'
  common ??= await loadCommon()
  return common.has(plain) ? 'is too common' : null
}

/** Loaded for the first new password: a megabyte that is rarely needed. */
async function loadCommon(): Promise<Set<string>> {
  const { dictionary } = await import('@zxcvbn-ts/language-common')
  return new Set(dictionary['passwords-common'].map((password) => String(password).toLowerCase()))
}
