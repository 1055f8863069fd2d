// uPlot formats numbers in this language when it loads, and fails if it is not a valid tag, such as `en-US@posix`.
try {
  Intl.getCanonicalLocales(navigator.language)
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en' })
}
