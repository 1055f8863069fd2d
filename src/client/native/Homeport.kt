/**
 * Homeport for Kotlin: the client of an app, in one file, with HomeportModels.kt beside it. It needs Kotlin 1.9,
 * Android 8 (API 26) or Java 11, and no library.
 */
package homeport

import java.io.ByteArrayInputStream
import java.io.File
import java.io.IOException
import java.io.InputStream
import java.io.InputStreamReader
import java.io.SequenceInputStream
import java.math.BigInteger
import java.net.HttpURLConnection
import java.net.URI
import java.net.URL
import java.nio.ByteBuffer
import java.nio.file.Files
import java.nio.file.StandardCopyOption
import java.security.AlgorithmParameters
import java.security.KeyFactory
import java.security.KeyPair
import java.security.KeyPairGenerator
import java.security.KeyStore
import java.security.MessageDigest
import java.security.SecureRandom
import java.security.Signature
import java.security.interfaces.ECPublicKey
import java.security.spec.AlgorithmParameterSpec
import java.security.spec.ECGenParameterSpec
import java.security.spec.ECParameterSpec
import java.security.spec.ECPoint
import java.security.spec.ECPublicKeySpec
import java.time.Instant
import java.time.ZoneId
import java.time.ZonedDateTime
import java.time.format.DateTimeFormatter
import java.util.Base64
import java.util.Collections
import java.util.Locale
import java.util.Optional
import java.util.concurrent.CompletableFuture
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.CopyOnWriteArrayList
import java.util.concurrent.ExecutionException
import java.util.concurrent.Executor
import java.util.concurrent.Executors
import java.util.concurrent.ScheduledThreadPoolExecutor
import java.util.concurrent.ThreadFactory
import java.util.concurrent.TimeUnit
import java.util.function.Supplier
import javax.crypto.AEADBadTagException
import javax.crypto.Cipher
import javax.crypto.KeyAgreement
import javax.crypto.KeyGenerator
import javax.crypto.SecretKey
import javax.crypto.spec.GCMParameterSpec
import javax.crypto.spec.SecretKeySpec
import kotlin.coroutines.AbstractCoroutineContextElement
import kotlin.coroutines.Continuation
import kotlin.coroutines.ContinuationInterceptor
import kotlin.coroutines.resume
import kotlin.coroutines.startCoroutine
import kotlin.coroutines.suspendCoroutine
import kotlin.math.ceil
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds
import org.json.JSONArray
import org.json.JSONObject
import org.json.JSONTokener

// region Public API

/** The error that every function of the client throws. */
class HomeportError(
    /** The HTTP status of the response; 0 if there was none. */
    val status: Int,
    /** A machine-readable error code; newer servers may return codes that this client does not know. */
    val code: String,
    override val message: String,
    /** The invalid fields, if there are any. */
    val details: List<Detail> = emptyList(),
    /** Identifies the request in the server's log. */
    val requestId: String? = null,
    /** Seconds to wait before trying again, if the server said so. */
    val retryAfter: Long? = null,
    /** Whether the server itself sent the error: in sealed mode an intermediary can send a plain response. */
    internal val isGenuine: Boolean = false,
    cause: Throwable? = null,
) : Exception(message, cause) {
    /** An invalid field: its path in the request, and the rule that it breaks. */
    data class Detail(val path: String, val message: String)
}

/** Cancels calls: pass it in their [CallOptions]. */
class Cancellation {
    private val listeners = mutableSetOf<() -> Unit>()
    var isCancelled = false
        private set

    /** Makes the calls fail at once with `aborted`. */
    fun cancel() {
        val called = synchronized(listeners) {
            isCancelled = true
            listeners.toList().also { listeners.clear() }
        }
        called.forEach { it() }
    }

    /** Returns a function that stops listening. */
    internal fun listen(listener: () -> Unit): () -> Unit {
        val isLate = synchronized(listeners) { isCancelled.also { if (!it) listeners.add(listener) } }
        if (isLate) listener()
        return { synchronized(listeners) { listeners.remove(listener) } }
    }
}

/** The options of one call. [timeout]: for an upload, the time without progress, times the number of files. */
class CallOptions(val cancellation: Cancellation? = null, val timeout: Duration? = null)

/** The installed app. [deviceId]: any text that stays the same on this device. */
class InstalledApp(
    val version: String,
    val buildNumber: Long? = null,
    val deviceId: String? = null,
    val platform: String = "android",
)

/** Why the session changed. [SESSION_ENDED]: the server has ended it. */
enum class AuthChangeReason { SIGNED_IN, REFRESHED, SIGNED_OUT, ACCOUNT_DELETED, SESSION_ENDED }

/** A change of the session. [userId]: the user who is signed in now. */
data class AuthChange(val reason: AuthChangeReason, val isSignedIn: Boolean, val userId: String?)

/** What has changed: `subscription`, `profile`, `data` or `settings`; newer servers may send other kinds. */
data class Change(val kind: String)

/** The response to a sign-in. */
sealed interface SignInResult {
    /** The user is signed in. */
    data class SignedIn(val session: Session) : SignInResult

    /** Two-factor is on: pass the challenge and a code to [Homeport.passTwoFactor]. */
    data class TwoFactor(val challenge: TwoFactorChallenge) : SignInResult
}

/** The response to the deletion of an account, with the subscriptions that continue at their stores. */
data class DeletedAccount(val message: String, val activeSubscriptions: List<ActiveSubscription>)

/** A file to upload. [open] is called for each attempt. */
class UploadFile(val name: String, val type: String?, val size: Long, val open: () -> InputStream) {
    constructor(file: File, type: String? = null, name: String = file.name) :
        this(name, type, if (file.isFile) file.length() else -1, { file.inputStream() })
}

/** How much of an upload has been sent, in bytes. */
data class Progress(val sent: Long, val total: Long)

/** A page of files, newest first. [next]: pass it as `after` to get the next page; null on the last page. */
data class AttachmentPage(val attachments: List<ListedAttachment>, val next: String?)

/** The final result of a queued purchase. */
data class QueuedPurchaseResult(val purchase: SubmittedPurchase, val result: PurchaseResult)

/** A response, or what the device has kept of the last one. */
class Kept<T> internal constructor(
    val data: T,
    /** Whether the server has not confirmed it since the call. */
    val isStale: Boolean,
    /** When the server sent it. */
    val asOf: Instant,
    private val refresh: suspend () -> Kept<T>,
) {
    /** Waits for the server's response. Throws like the function that reads the value. */
    suspend fun refreshed(): Kept<T> = refresh()
}

/** The values that the device keeps, for [Homeport.readKept]. */
class KeptValue<T> private constructor(internal val name: String, internal val decode: (Any) -> T) {
    companion object {
        val subscription = KeptValue("subscription") { Subscription.from(it as JSONObject) }
        val profile = KeptValue("profile") { UserProfile.from(it as JSONObject) }
        val settings = KeptValue("settings") { AppSettings.from(it as JSONObject) }
        val plans = KeptValue("plans") { list(it) { json -> PricingPlan.from(json) } }
        val rates = KeptValue("rates") { CurrencyRates.from(it as JSONObject) }
        val faqs = KeptValue("faqs") { list(it) { json -> Faq.from(json) } }
    }
}

/**
 * Homeport for an app: a function per endpoint. Create one for the whole app; it continues the session in [storage].
 *
 * Every function throws a [HomeportError]. Each may have the code `network_error`, `timeout`, `aborted`,
 * `reply_invalid`, `storage_failed` or `rate_limited`; those for signed-in users also `unauthenticated`: [isSignedIn]
 * then says whether the session has ended.
 *
 * @param baseUrl The server's address, such as `https://api.example.com`.
 * @param storage Where to keep the session: [EncryptedStorage] on Android.
 * @param offlineStorage Where to keep the last responses and the purchases that are not yet submitted.
 * @param device A name by which users recognize this device.
 * @param language Languages as in `Accept-Language`; the device's by default.
 * @param env `test` sends plain JSON; any other word, such as `production`, seals payloads.
 * @param pinnedKeys Thumbprints of the server keys to trust, as `homeport keys list` prints them with use `enc`.
 * @param signingKeys Thumbprints of the server's signing keys (use `sig`): kept access must be signed with one.
 * @param listenerExecutor Where listeners are called; on Android `{ Handler(Looper.getMainLooper()).post(it) }`.
 * @param onSignedOut Called when the server has ended the session.
 * @param platform Replaces the network, the clock and chance in tests.
 */
class Homeport(
    baseUrl: String,
    storage: Storage = MemoryStorage(),
    offlineStorage: Storage = storage,
    internal val app: InstalledApp? = null,
    private val device: String? = deviceModel(),
    private val language: String? = null,
    env: String? = null,
    pinnedKeys: List<String>? = null,
    signingKeys: List<String>? = null,
    private val timeout: Duration = 30.seconds,
    private val listenerExecutor: Executor = Executors.newSingleThreadExecutor(daemonThreads("listeners")),
    onSignedOut: (() -> Unit)? = null,
    platform: Platform = Platform(),
) {
    private val baseUrl = normalizeBaseUrl(baseUrl)
    private val clock = platform.clock
    private val loop = Loop(platform)
    private val authChanges = Listeners<AuthChange>()
    private val send = openTransport(this.baseUrl, env, pinnedKeys, loop, Transmitter(loop, platform.transport))
    private val caller = Caller(send, ::commonHeaders, loop)
    private val disk = Executors.newSingleThreadExecutor(daemonThreads("storage"))
    private val session: SessionKeeper = SessionKeeper(
        Slot(storage, "homeport.session", loop, disk), this.baseUrl, loop, ::exchangeRefreshToken, ::onSessionChange,
    )
    private val kept = KeptResponses(
        Slot(offlineStorage, "homeport.kept", loop, disk), this.baseUrl, caller::call, session, signingKeys, loop, ::readValue,
    )
    private val changes = ChangeStream(::call, ::withToken, session, authChanges, loop, ::notifyApp)
    private val purchases = PurchaseQueue(Slot(offlineStorage, "homeport.purchases", loop, disk), this.baseUrl, session, loop, ::submit)
    private var startingGuest: Pending<Session>? = null

    init {
        authChanges.add { if (it.reason == AuthChangeReason.SIGNED_IN) purchases.wake() }
        if (onSignedOut != null) {
            onAuthChange { if (it.reason == AuthChangeReason.SESSION_ENDED) onSignedOut() }
        }
        loop.post { purchases.wake() }
    }

    /** Returns whether a session is stored on this device; the server may already have ended it. */
    suspend fun isSignedIn(): Boolean = loop.enter { session.read() != null }

    /** Returns an access token for the app's other services, refreshed if necessary. Throws `unauthenticated`. */
    suspend fun accessToken(options: CallOptions? = null): String = run(options) { session.readFresh().accessToken }

    /** Fetches new tokens; the client does this automatically when necessary. Throws `unauthenticated`. */
    suspend fun refresh(options: CallOptions? = null) {
        run(options) { session.renew(session.read()) }
    }

    /** Calls [listener] whenever the session changes. Returns a function that stops it. */
    fun onAuthChange(listener: (AuthChange) -> Unit): () -> Unit = listen(authChanges, listener)

    // region Sign-in

    /**
     * Creates an account and signs in; a guest becomes that account. Throws `email_taken`, `validation_failed`,
     * `session_ended` if the guest's session cannot be refreshed, `token_lost`.
     */
    suspend fun register(
        email: String,
        password: String,
        name: String? = null,
        invitation: String? = null,
        options: CallOptions? = null,
    ): Session {
        val account = NewAccount(trimAddress(email), password, name, invitation).toJson()
        return sessionOf(signInWithGuest("/api/auth/register/v1", account, options, keepsGuestId = true))
    }

    /**
     * Signs in, or returns a challenge if two-factor is on; the account takes over a guest's data. Throws
     * `invalid_credentials`, and `session_ended` as [register] does.
     */
    suspend fun login(email: String, password: String, options: CallOptions? = null): SignInResult {
        val credentials = Credentials(trimAddress(email), password).toJson()
        return signInWithGuest("/api/auth/login/v1", credentials, options, guestsOnly = true)
    }

    /** Completes a two-factor sign-in with a code of the app or a recovery code. Throws `invalid_credentials`. */
    suspend fun passTwoFactor(challengeToken: String, code: String, options: CallOptions? = null): Session {
        val answer = jsonOf("challengeToken" to challengeToken, "code" to code)
        return sessionOf(signIn("/api/auth/login/v1/two_factor", answer, options))
    }

    /** Sends a code of six digits by e-mail. Keep `requestToken` until the user has entered the code. */
    suspend fun requestEmailCode(email: String, options: CallOptions? = null): EmailCodeRequest =
        withoutToken("post", "/api/auth/email_code/v1", options, jsonOf("email" to trimAddress(email)))
            .one { EmailCodeRequest.from(it) }

    /**
     * Signs in with the code from the e-mail, or creates the account; a guest keeps their data. Throws
     * `invalid_credentials`, and `session_ended` as [register] does.
     */
    suspend fun signInWithEmailCode(
        requestToken: String,
        code: String,
        name: String? = null,
        options: CallOptions? = null,
    ): SignInResult {
        val answer = EmailCodeAnswer(requestToken, code, name).toJson()
        return signInWithGuest("/api/auth/email_code/v1/verify", answer, options)
    }

    /**
     * Signs in with Google, Apple or the server's OpenID Connect provider; a guest keeps their data. Throws
     * `unauthenticated`, and `session_ended` as [register] does.
     */
    suspend fun signInSocially(login: SocialLogin, options: CallOptions? = null): SignInResult =
        signInWithGuest("/api/auth/social/v1", login.toJson(), options)

    /** Returns the options for signing in with any passkey of the app, as JSON for Credential Manager. */
    suspend fun startPasskeySignIn(options: CallOptions? = null): String =
        withoutToken("post", "$PASSKEYS/sign_in/options", options).one { it.toString() }

    /**
     * Signs in with a passkey: [credential] is the `authenticationResponseJson` of Credential Manager. Throws
     * `invalid_credentials`, and `session_ended` as [register] does.
     */
    suspend fun signInWithPasskey(credential: String, options: CallOptions? = null): Session {
        val login = jsonOf("credential" to JSONObject(credential))
        return sessionOf(signInWithGuest("$PASSKEYS/sign_in", login, options, guestsOnly = true))
    }

    /**
     * Signs in without credentials, or returns the current guest. Any later sign-in keeps the guest's data. Throws
     * `conflict` if a user is signed in.
     */
    suspend fun startAsGuest(options: CallOptions? = null): Session = run(options) {
        val starting = startingGuest ?: loop.launch { startGuest() }.also { startingGuest = it }
        try {
            starting.await()
        } finally {
            if (startingGuest === starting) startingGuest = null
        }
    }

    /** Ends the session on the server if it can be reached, and always on this device. Returns a message. */
    suspend fun logout(options: CallOptions? = null): String = loop.enter {
        val before = runCatching { session.read() }.getOrNull()
        // A storage that fails must not keep the server from ending the session.
        val forgotten = runCatching { session.forget(AuthChangeReason.SIGNED_OUT) }
        val reply = before?.let { endForgottenSession(it, options) }
        forgotten.getOrThrow()
        reply ?: "Signed out on this device."
    }

    private suspend fun signIn(path: String, json: JSONObject, options: CallOptions?): SignInResult =
        run(options) { deadline ->
            val content = Content(deadline, Body.json(json))
            session.trackSignIn { keepSession(call("post", path, null, content)) }
        }

    /**
     * Sends a guest's token, so that the account takes over the data. Tests it first: if an intermediary removed it,
     * the server would create a new account. [guestsOnly]: only of a guest. [keepsGuestId]: another id means that an
     * intermediary removed it.
     */
    private suspend fun signInWithGuest(
        path: String,
        json: JSONObject,
        options: CallOptions?,
        guestsOnly: Boolean = false,
        keepsGuestId: Boolean = false,
    ): SignInResult = run(options) { deadline ->
        val sender = findSender(deadline, guestsOnly)
        val guest = sender?.second?.takeIf { keepsGuestId && it.optString("loginType") == "guest" }
        session.trackSignIn {
            keepSession(call("post", path, sender?.first, Content(deadline, Body.json(json))), guest)
        }
    }

    /** The valid token and the user of this device; null if no token should be sent. */
    private suspend fun findSender(deadline: Deadline, guestsOnly: Boolean): Pair<String, JSONObject>? {
        val stored = session.read()
        if (stored == null || (guestsOnly && stored.isGuest == false)) return null
        return try {
            withToken { token -> token to call("get", PROFILE, token, Content(deadline)).one { it } }
        } catch (error: HomeportError) {
            throw if (error.isSessionEnded && session.read() == null) sessionEnded(error) else error
        }
    }

    /** Shared by all callers. Keeps a guest whose session has not ended, and never replaces a signed-in user. */
    private suspend fun startGuest(): Session = run(null) { deadline ->
        val stored = session.read() ?: return@run createGuest(deadline)
        val profile = try {
            withToken { token -> call("get", PROFILE, token, Content(deadline)) }.one { it }
        } catch (error: HomeportError) {
            if (stored.isGuest != true || !error.isSessionEnded || session.read() != null) throw error
            return@run createGuest(deadline)
        }
        if (profile.optString("loginType") != "guest") throw alreadySignedIn()
        val fresh = session.readFresh()
        val expiresIn = Math.floorDiv(fresh.expiresAt - clock.now(), 1000L)
        Session(fresh.accessToken, fresh.refreshToken, "Bearer", expiresIn, UserProfile.from(profile))
    }

    private suspend fun createGuest(deadline: Deadline): Session =
        sessionOf(keepSession(call("post", "/api/auth/guest/v1", null, Content(deadline)), isFirst = true))

    /** [guest]: the user that the session must belong to. */
    private suspend fun keepSession(
        reply: Envelope,
        guest: JSONObject? = null,
        isFirst: Boolean = false,
    ): SignInResult {
        val json = readSession(reply)
        if (!json.has("refreshToken")) return SignInResult.TwoFactor(decode { TwoFactorChallenge.from(json) })
        val userId = json.getJSONObject("user").getString("_id")
        if (guest != null && guest.optString("_id") != userId) throw tokenLost()
        session.keep(json, isFirst)
        return SignInResult.SignedIn(decode { Session.from(json) })
    }

    private fun sessionOf(result: SignInResult): Session =
        (result as? SignInResult.SignedIn)?.session ?: throw noSession()

    /** Ends a session that this device has forgotten. Returns null if that cannot be known. */
    private suspend fun endForgottenSession(stored: StoredSession, options: CallOptions?): String? = try {
        run(options) { deadline ->
            val end: suspend (String) -> Envelope = { call("post", LOGOUT, it, Content(deadline)) }
            try {
                end(stored.accessToken)
            } catch (error: HomeportError) {
                if (!error.isTokenRefused) throw error
                end(exchangeRefreshToken(stored.refreshToken).getString("accessToken"))
            }
        }.message
    } catch (error: HomeportError) {
        if (error.code == "aborted") throw error
        null
    }

    /** Shared by all callers: no caller's cancellation or timeout ends it. */
    private suspend fun exchangeRefreshToken(refreshToken: String): JSONObject = run(null) { deadline ->
        val body = Body.json(jsonOf("refreshToken" to refreshToken))
        readSession(call("post", "/api/auth/refresh/v1", null, Content(deadline, body)))
    }

    private suspend fun onSessionChange(change: AuthChange) {
        authChanges.notify(change)
        kept.forgetOthers(change.userId)
    }

    // endregion
    // region Account

    /** Returns the signed-in user. */
    suspend fun readProfile(options: CallOptions? = null): UserProfile =
        asUser("get", PROFILE, options).one { UserProfile.from(it) }

    /** Changes the fields in [changes] and returns the whole profile. Throws `validation_failed`. */
    suspend fun changeProfile(changes: ProfileChanges, options: CallOptions? = null): UserProfile =
        asUser("patch", PROFILE, options, changes.toJson()).one { UserProfile.from(it) }

    /**
     * Permanently deletes the account and all its data. Call it again if the response was lost. Stores keep charging
     * for `activeSubscriptions`: tell the user where to cancel.
     */
    suspend fun deleteProfile(options: CallOptions? = null): DeletedAccount = loop.enter {
        // If the response is lost and the server then refuses the session, the account was deleted, unless the
        // session was refreshed in between.
        val before = session.read()
        val earlier = session.deletion
        if (before == null && earlier == Deletion.Confirmed) return@enter DELETED
        try {
            val reply = run(options) { deadline -> withToken { token -> sendDeletion(token, earlier, deadline) } }
            if (session.read()?.userId == before?.userId) session.forget(AuthChangeReason.ACCOUNT_DELETED)
            val active = reply.json.optJSONArray("activeSubscriptions") ?: JSONArray()
            DeletedAccount(reply.message, decode { list(active) { ActiveSubscription.from(it) } })
        } catch (error: HomeportError) {
            val wasSent = before != null && earlier == Deletion.Sent(before.accessToken)
            if (wasSent && error.isSessionEnded) DELETED else throw error
        }
    }

    private suspend fun sendDeletion(token: String, earlier: Deletion?, deadline: Deadline): Envelope {
        session.deletion = Deletion.Sent(token)
        try {
            return call("delete", PROFILE, token, Content(deadline))
        } catch (error: HomeportError) {
            // A proxy answers 502 or 504 without knowing what became of the request.
            if (error.status !in setOf(0, 502, 504)) session.deletion = earlier
            throw error
        }
    }

    /** Returns all data that the server stores about the user, as JSON. */
    suspend fun exportData(options: CallOptions? = null): JSONObject =
        asUser("get", "/api/user/export/v1", options).one { it }

    /** Returns the signed-in devices, most recently used first. */
    suspend fun listSessions(options: CallOptions? = null): List<Device> =
        asUser("get", SESSIONS, options).many { Device.from(it) }

    /** Signs a device out: [id] is its session id, or `others` for all other devices. Throws `not_found`. */
    suspend fun endSession(id: String, options: CallOptions? = null): String =
        asUser("delete", SESSIONS, options, query = mapOf("id" to id)).message

    /**
     * Changes the password and signs out all other devices. Throws `invalid_credentials`, `validation_failed`,
     * `two_factor_required` without a code if two-factor is on.
     */
    suspend fun changePassword(
        currentPassword: String,
        newPassword: String,
        code: String? = null,
        options: CallOptions? = null,
    ): String {
        val json = jsonOf("currentPassword" to currentPassword, "newPassword" to newPassword, "code" to code)
        return asUser("patch", PASSWORD, options, json).message
    }

    /** Sends an e-mail with a reset link if the account exists. */
    suspend fun forgotPassword(email: String, options: CallOptions? = null): String =
        withoutToken("post", "$PASSWORD/forgot", options, jsonOf("email" to trimAddress(email))).message

    /** Sets a password with the token of the reset link. Throws `unauthenticated` for a used or expired link. */
    suspend fun resetPassword(token: String, newPassword: String, options: CallOptions? = null): String =
        withoutToken("post", "$PASSWORD/reset", options, jsonOf("token" to token, "newPassword" to newPassword)).message

    /** Verifies an address with the token of its link. Throws `unauthenticated` for a used or expired link. */
    suspend fun verifyEmail(token: String, options: CallOptions? = null): String =
        withoutToken("post", "/api/auth/email/v1/verify", options, jsonOf("token" to token)).message

    /** Sends the verification e-mail again. Throws `conflict` if there is nothing to verify. */
    suspend fun resendVerification(options: CallOptions? = null): String =
        asUser("post", "/api/auth/email/v1/resend", options).message

    /**
     * Sends an e-mail to the new address; nothing changes until its link is opened. Throws `email_taken`,
     * `invalid_credentials`, `recent_sign_in_required` without a password, `two_factor_required` without a code.
     */
    suspend fun changeEmail(
        email: String,
        password: String? = null,
        code: String? = null,
        options: CallOptions? = null,
    ): String {
        val json = jsonOf("email" to trimAddress(email), "password" to password, "code" to code)
        return asUser("post", "/api/auth/email/v1/change", options, json).message
    }

    /** Cancels a change of address with the token sent to the old address. */
    suspend fun cancelEmailChange(token: String, options: CallOptions? = null): String =
        withoutToken("post", "/api/auth/email/v1/cancel", options, jsonOf("token" to token)).message

    /**
     * Unlinks `google`, `apple` or `oidc`. Throws `conflict` if it is the only way to sign in, `two_factor_required`
     * without a code if two-factor is on.
     */
    suspend fun unlinkProvider(provider: String, code: String? = null, options: CallOptions? = null): String =
        asUser("delete", "/api/auth/social/v1", options, query = mapOf("provider" to provider, "code" to code)).message

    /**
     * Creates a secret for an authenticator app. Throws `invalid_credentials`, `recent_sign_in_required` for users
     * without a password, `conflict` if two-factor is on.
     */
    suspend fun setUpTwoFactor(password: String? = null, options: CallOptions? = null): TwoFactorSetup =
        asUser("post", TWO_FACTOR, options, jsonOf("password" to password)).one { TwoFactorSetup.from(it) }

    /** Turns two-factor on with a first code. Throws `invalid_credentials`. */
    suspend fun confirmTwoFactor(code: String, options: CallOptions? = null): RecoveryCodes =
        asUser("post", "$TWO_FACTOR/confirm", options, jsonOf("code" to code)).one { RecoveryCodes.from(it) }

    /** Replaces the recovery codes. Throws `invalid_credentials`, `conflict` if two-factor is off. */
    suspend fun renewRecoveryCodes(
        code: String,
        password: String? = null,
        options: CallOptions? = null,
    ): RecoveryCodes {
        val json = jsonOf("password" to password, "code" to code)
        return asUser("post", "$TWO_FACTOR/recovery_codes", options, json).one { RecoveryCodes.from(it) }
    }

    /** Turns two-factor off. Throws `invalid_credentials`. */
    suspend fun disableTwoFactor(code: String, password: String? = null, options: CallOptions? = null): String =
        asUser("delete", TWO_FACTOR, options, jsonOf("password" to password, "code" to code)).message

    /** Returns the user's passkeys, oldest first. */
    suspend fun listPasskeys(options: CallOptions? = null): List<Passkey> =
        asUser("get", PASSKEYS, options).many { Passkey.from(it) }

    /**
     * Returns the options for creating a passkey, as JSON for Credential Manager. Throws `recent_sign_in_required`
     * without the password, `invalid_credentials` for a wrong one, `two_factor_required` without a code.
     */
    suspend fun startPasskeyRegistration(
        password: String? = null,
        code: String? = null,
        options: CallOptions? = null,
    ): String {
        val json = jsonOf("password" to password, "code" to code)
        return asUser("post", "$PASSKEYS/options", options, json).one { it.toString() }
    }

    /**
     * Adds a passkey: [credential] is the `registrationResponseJson` of Credential Manager. A guest becomes an account.
     * Throws `invalid_credentials`, `conflict` if there are too many.
     */
    suspend fun addPasskey(credential: String, name: String? = null, options: CallOptions? = null): Passkey {
        val json = jsonOf("credential" to JSONObject(credential), "name" to name)
        return asUser("post", PASSKEYS, options, json).one { Passkey.from(it) }
    }

    /** Renames a passkey. Throws `not_found`. */
    suspend fun renamePasskey(id: String, name: String, options: CallOptions? = null): Passkey =
        asUser("patch", PASSKEYS, options, jsonOf("id" to id, "name" to name)).one { Passkey.from(it) }

    /**
     * Removes a passkey and signs out all other devices. Throws `not_found`, `conflict` if it is the only way to sign
     * in, `two_factor_required` without a code if two-factor is on.
     */
    suspend fun removePasskey(id: String, code: String? = null, options: CallOptions? = null): String =
        asUser("delete", PASSKEYS, options, query = mapOf("id" to id, "code" to code)).message

    // endregion
    // region Content

    /** Returns the app's settings; see [isUpdateRequired]. */
    suspend fun readAppSettings(options: CallOptions? = null): AppSettings = read(KeptValue.settings, null, options)

    /** Returns the pricing plans on sale, in the language [lang] or the device's. */
    suspend fun readPricingPlans(lang: String? = null, options: CallOptions? = null): List<PricingPlan> =
        read(KeptValue.plans, lang, options)

    /** Returns the exchange rates; see [findRate]. */
    suspend fun readCurrencyRates(options: CallOptions? = null): CurrencyRates = read(KeptValue.rates, null, options)

    /** Returns the version counter of each kind of content. */
    suspend fun readContentVersions(options: CallOptions? = null): ContentVersions =
        withoutToken("get", CONTENT_VERSION, options).one { ContentVersions.from(it) }

    /** Returns the frequently asked questions. */
    suspend fun readFaqs(lang: String? = null, options: CallOptions? = null): List<Faq> =
        read(KeptValue.faqs, lang, options)

    /**
     * Returns the last response at once if the device has kept one, and reads it again; else waits for the server. What
     * is kept of a subscription gives access until it ends, judged by a clock that cannot be set back.
     */
    suspend fun <T> readKept(value: KeptValue<T>, lang: String? = null, options: CallOptions? = null): Kept<T> =
        loop.enter { kept.readKept(value, lang, options) }

    /**
     * Calls [listener] with each kind once at the start, and then whenever something of a kind may have changed on the
     * server: read it again. Keeps a connection open while a user is signed in. Returns a function that stops it.
     */
    fun onChange(listener: (Change) -> Unit): () -> Unit {
        val registered: (Change) -> Unit = { listener(it) }
        loop.post { changes.add(registered) }
        return { loop.post { changes.remove(registered) } }
    }

    private suspend fun <T> read(value: KeptValue<T>, lang: String?, options: CallOptions?): T {
        val data = readValue(value.name, lang, options)
        return decode { value.decode(data) }
    }

    private suspend fun readValue(name: String, lang: String?, options: CallOptions?): Any = when (name) {
        "subscription" -> asUser("get", SUBSCRIPTION, options, query = mapOf("lang" to lang))
        "profile" -> asUser("get", PROFILE, options)
        "settings" -> run(options) { deadline ->
            // A check for a required update must not wait for a refresh that fails.
            val waiting = CallOptions(timeout = MAX_REFRESH_WAIT_MS.milliseconds)
            val fresh = runCatching { run(waiting) { session.readFresh() } }.getOrNull()
            call("get", "/api/user/app_settings/v1", fresh?.accessToken, Content(deadline))
        }
        "plans" -> withoutToken("get", "/api/user/pricing_plans/v1", options, query = mapOf("lang" to lang))
        "rates" -> withoutToken("get", "/api/user/currency_rates/v1", options)
        else -> withoutToken("get", "/api/user/faqs/v1", options, query = mapOf("lang" to lang))
    }.data

    // endregion
    // region Attachments

    /**
     * Uploads 1 to 10 files of up to 25 MiB each. Retrying with the same [idempotencyKey] stores nothing twice.
     * [type]: `publicAsset` or `supportTicket`. [targetType]: `jpg`, `jpeg`, `png` or `webp`. Throws
     * `file_unreadable`, `unsupported_media_type`, `payload_too_large`, `quota_exceeded`, `image_unreadable`,
     * `image_too_large`, `insufficient_storage`.
     */
    suspend fun uploadAttachments(
        type: String,
        files: List<UploadFile>,
        targetType: String? = null,
        compression: Boolean? = null,
        idempotencyKey: String = randomHex(),
        options: CallOptions? = null,
        onProgress: (Progress) -> Unit = {},
    ): List<Attachment> {
        // The server processes the files after the last one has arrived.
        val silence = (options?.timeout ?: timeout) * maxOf(files.size, 1)
        val query = mapOf("type" to type, "compression" to compression, "targetType" to targetType)
        return run(CallOptions(options?.cancellation, silence)) { deadline ->
            val sender = session.read()?.userId
            val body = loop.blocking { Body.form(files) }
            // Reading the files may have taken long enough for another user to sign in.
            if (session.read()?.userId != sender) throw userChanged()
            deadline.onProgress = { progress -> notifyApp(progress, onProgress) }
            val content = Content(deadline, body, query, mapOf("idempotency-key" to idempotencyKey))
            withToken { token -> call("post", ATTACHMENTS, token, content) }
        }.many { Attachment.from(it) }
    }

    /** Returns a page of the user's files, newest first. */
    suspend fun listAttachments(
        limit: Int? = null,
        after: String? = null,
        options: CallOptions? = null,
    ): AttachmentPage {
        val reply = asUser("get", ATTACHMENTS, options, query = mapOf("limit" to limit, "after" to after))
        return AttachmentPage(reply.many { ListedAttachment.from(it) }, reply.json.textOrNull("next"))
    }

    /** Returns a file with a fresh URL. Throws `not_found`. */
    suspend fun readAttachment(key: String, options: CallOptions? = null): AttachmentDetails =
        asUser("get", "$ATTACHMENTS/download", options, query = mapOf("key" to key)).one { AttachmentDetails.from(it) }

    /** Deletes a file. Throws `not_found`. */
    suspend fun deleteAttachment(key: String, options: CallOptions? = null): String =
        asUser("delete", ATTACHMENTS, options, query = mapOf("key" to key)).message

    // endregion
    // region Data

    /** Returns the documents of the app and its servers. */
    suspend fun readData(options: CallOptions? = null): UserData =
        asUser("get", DATA, options).one { UserData.from(it) }

    /**
     * Stores [data] as the whole document, only if [version] is still current. Throws `precondition_failed`,
     * `payload_too_large`.
     */
    suspend fun replaceData(data: JSONObject, version: String? = null, options: CallOptions? = null): UserData =
        asUser("put", DATA, options, data, mapOf("version" to version)).one { UserData.from(it) }

    /**
     * Changes members of the document: absent ones stay, `JSONObject.NULL` removes one (RFC 7396). Throws
     * `precondition_failed`, `payload_too_large`.
     */
    suspend fun patchData(data: JSONObject, version: String? = null, options: CallOptions? = null): UserData =
        asUser("patch", DATA, options, data, mapOf("version" to version)).one { UserData.from(it) }

    // endregion
    // region Billing

    /** Returns the user's purchases and entitlements. For access, check [Subscription.entitlements]. */
    suspend fun readSubscription(
        environment: String? = null,
        lang: String? = null,
        proof: Boolean? = null,
        options: CallOptions? = null,
    ): Subscription {
        val query = mapOf("environment" to environment, "proof" to proof, "lang" to lang)
        return asUser("get", SUBSCRIPTION, options, query = query).one { Subscription.from(it) }
    }

    /** Returns every limit of the user's plan, and how much of it is used in the current period. */
    suspend fun readUsage(options: CallOptions? = null): List<LimitUsage> =
        asUser("get", "/api/user/usage/v1", options).many { LimitUsage.from(it) }

    /** Submits purchases at once. [takeOver] also moves those of another user: ask the user first. */
    suspend fun submitPurchases(
        purchases: List<SubmittedPurchase>,
        takeOver: Boolean? = null,
        environment: String? = null,
        options: CallOptions? = null,
    ): SubmittedPurchases {
        val list = JSONArray(purchases.map { it.toJson() })
        val json = jsonOf("purchases" to list, "takeOver" to takeOver, "environment" to environment)
        return asUser("post", PURCHASES, options, json).one { SubmittedPurchases.from(it) }
    }

    /**
     * Stores a purchase on this device before it returns, and submits it for the signed-in user until the result is
     * final, also after a restart: see [onPurchaseResult]. Throws `unauthenticated`, `storage_failed`.
     */
    suspend fun queuePurchase(purchase: SubmittedPurchase, options: CallOptions? = null) =
        run(options) { purchases.add(purchase.toJson()) }

    /** Calls [listener] with the final result of each queued purchase. Returns a function that stops it. */
    fun onPurchaseResult(listener: (QueuedPurchaseResult) -> Unit): () -> Unit = listen(purchases.results, listener)

    /** Sells a plan by card: open the page of the result in a browser. */
    suspend fun startCheckout(request: CheckoutRequest, options: CallOptions? = null): Checkout =
        asUser("post", "/api/user/checkout/v1", options, request.toJson()).one { Checkout.from(it) }

    /** Returns the URL on which the user changes or cancels a subscription that was sold by card. */
    suspend fun createPortalLink(request: PortalRequest, options: CallOptions? = null): String =
        asUser("post", "/api/user/billing_portal/v1", options, request.toJson()).one { it.getString("url") }

    private suspend fun submit(purchase: JSONObject): PurchaseResult {
        val json = jsonOf("purchases" to JSONArray().put(purchase))
        val results = asUser("post", PURCHASES, null, json).one { it.getJSONArray("results") }
        return decode { PurchaseResult.from(results.getJSONObject(0)) }
    }

    // endregion
    // region Calls

    private suspend fun asUser(
        method: String,
        path: String,
        options: CallOptions?,
        json: JSONObject? = null,
        query: Map<String, Any?> = emptyMap(),
    ): Envelope = run(options) { deadline ->
        withToken { token -> call(method, path, token, Content(deadline, json?.let(Body::json), query)) }
    }

    private suspend fun withoutToken(
        method: String,
        path: String,
        options: CallOptions?,
        json: JSONObject? = null,
        query: Map<String, Any?> = emptyMap(),
    ): Envelope = run(options) { deadline ->
        call(method, path, null, Content(deadline, json?.let(Body::json), query))
    }

    /** Reads go through what is kept. */
    private suspend fun call(method: String, path: String, token: String?, content: Content): Envelope {
        val name = if (method == "get") KEPT_NAMES[path] else null
        return if (name != null) kept.fetch(name, path, token, content) else caller.call(method, path, token, content)
    }

    /**
     * Retries once with a new token: the first may have expired, or an intermediary removed it. The session has ended
     * only if it cannot be refreshed.
     */
    private suspend fun <T> withToken(request: suspend (String) -> T): T {
        val stored = session.readFresh()
        try {
            return request(stored.accessToken)
        } catch (error: HomeportError) {
            // An intermediary's refusal must not make the client send a request twice.
            if (!error.isTokenRefused) throw error
            val next = try {
                session.renew(stored)
            } catch (failure: HomeportError) {
                // Another user has since signed in: the server refused the previous user's request.
                throw if (failure.code == "conflict") error else failure
            }
            return request(next.accessToken)
        }
    }

    private suspend fun <T> run(options: CallOptions?, work: suspend (Deadline) -> T): T = loop.enter {
        withDeadline(loop, options?.cancellation, (options?.timeout ?: timeout).inWholeMilliseconds, work)
    }

    private fun <T> listen(listeners: Listeners<T>, listener: (T) -> Unit): () -> Unit =
        listeners.add { notifyApp(it, listener) }

    /** An error in the app's listener must not fail the call. */
    private fun <T> notifyApp(value: T, listener: (T) -> Unit) {
        runCatching { listenerExecutor.execute { runCatching { listener(value) } } }
    }

    /** The headers that describe the device and the app. */
    private fun commonHeaders(): Map<String, String> {
        val languages = (language ?: Locale.getDefault().toLanguageTag()).replace(Regex("[^ -~]"), "")
        return buildMap {
            put("timezone", ZoneId.systemDefault().id)
            // Headers are ASCII, and device names can contain any character.
            device?.let { put("device", encodeComponent(it.replace(Regex("\\p{Cs}"), ""))) }
            app?.let { put("app-platform", it.platform) }
            app?.let { put("app-version", it.version) }
            app?.deviceId?.let { if (it.isNotEmpty()) put("device-id", encodeComponent(it)) }
            if (languages.isNotEmpty()) put("accept-language", languages)
        }
    }

    // endregion
}

/** The units of a currency, in upper or lower case, for one unit of the base; null without a rate. */
fun findRate(rates: CurrencyRates, currency: String): Double? = rates.rates[currency.uppercase(Locale.ROOT)]

/** Whether the app must be updated: its version or build is older than the supported one. */
fun isUpdateRequired(settings: AppSettings, app: InstalledApp): Boolean = when (app.platform) {
    "ios" -> isOlder(app, settings.ios.supportedVersion, settings.ios.supportedBuildNumber)
    "android" -> isOlder(app, settings.android.supportedVersion, settings.android.supportedBuildNumber)
    else -> false
}

/** Whether the store has an update: the app's version or build is older than the latest one. */
fun isUpdateAvailable(settings: AppSettings, app: InstalledApp): Boolean = when (app.platform) {
    "ios" -> isOlder(app, settings.ios.latestVersion, settings.ios.latestBuildNumber)
    "android" -> isOlder(app, settings.android.latestVersion, settings.android.latestBuildNumber)
    else -> false
}

private fun isOlder(app: InstalledApp, limit: String, build: Long): Boolean {
    // A version that cannot be parsed must not lock users out.
    val installed = parseVersion(app.version) ?: return false
    val wanted = parseVersion(limit) ?: return false
    for (at in 0 until maxOf(installed.size, wanted.size)) {
        val difference = installed.getOrElse(at) { BigInteger.ZERO }.compareTo(wanted.getOrElse(at) { BigInteger.ZERO })
        if (difference != 0) return difference < 0
    }
    return app.buildNumber != null && app.buildNumber < build
}

/** The numbers between the dots: a suffix such as `-beta.1` or `(231)` does not count. */
private fun parseVersion(version: String): List<BigInteger>? =
    Regex("^\\s*[vV]?(\\d+(?:\\.\\d+)*)").find(version)?.groupValues?.get(1)?.split('.')?.map(::BigInteger)

// endregion

// region Session keeper

/** Sessions kept by earlier versions lack [userId], [isGuest] and `baseUrl`. */
internal class StoredSession(private val json: JSONObject) {
    val accessToken: String get() = json.optString("accessToken")
    val refreshToken: String get() = json.optString("refreshToken")
    val expiresAt get() = json.optLong("expiresAt")
    val userId get() = json.textOrNull("userId")
    val isGuest get() = json.opt("isGuest") as? Boolean
    override fun toString() = json.toString()
}

/** A deletion of the account whose response was lost. */
internal sealed interface Deletion {
    data class Sent(val accessToken: String) : Deletion
    /** The server has since refused the token. */
    object Confirmed : Deletion
}

/** Keeps the tokens of a session, and refreshes them once for all concurrent callers. */
internal class SessionKeeper(
    private val slot: Slot, private val baseUrl: String, private val loop: Loop,
    private val exchangeRefreshToken: suspend (String) -> JSONObject,
    /** Returns when nothing of another user is left. */
    private val onChange: suspend (AuthChange) -> Unit,
) {
    var deletion: Deletion? = null
    private val changing = Mutex()
    private val signIns = mutableSetOf<Pending<*>>()
    private var refreshing: Pending<StoredSession>? = null

    suspend fun <T> trackSignIn(signIn: suspend () -> T): T {
        val running = loop.launch(signIn)
        signIns.add(running)
        return try { running.await() } finally { signIns.remove(running) }
    }

    /** With [isFirst], throws `conflict` if a user has signed in since. */
    suspend fun keep(session: JSONObject, isFirst: Boolean) = changing.run {
        if (isFirst && read() != null) throw alreadySignedIn()
        deletion = null
        store(session, AuthChangeReason.SIGNED_IN)
    }

    suspend fun forget(reason: AuthChangeReason) = changing.run { clear(reason) }

    /** Returns the stored session; null if no user is signed in. */
    suspend fun read(): StoredSession? = toSession(slot.read())

    /** Returns a session whose access token is valid by our clock. Throws `unauthenticated` if no user is signed in. */
    suspend fun readFresh(): StoredSession {
        val stored = read()
        return if (stored != null && stored.expiresAt - EXPIRY_MARGIN_MS > loop.clock.now()) stored else renew(stored)
    }

    /** Callers share one refresh. Throws `unauthenticated` if signed out, `conflict` for another user. */
    suspend fun renew(stored: StoredSession?): StoredSession {
        if (stored == null) throw notSignedIn()
        val running = refreshing ?: loop.launch { refresh(stored.accessToken) }.also { started ->
            refreshing = started
            started.onDone { refreshing = null }
        }
        val next = running.await()
        if (stored.userId != null && next.userId != stored.userId) throw userChanged()
        return next
    }

    private fun toSession(text: String?): StoredSession? {
        val json = parseObject(text) ?: return null
        val isOurs = (json.textOrNull("baseUrl") ?: baseUrl) == baseUrl
        return if (isOurs && json.opt("refreshToken") is String) StoredSession(json) else null
    }

    private suspend fun store(session: JSONObject, reason: AuthChangeReason): StoredSession {
        val user = session.getJSONObject("user")
        val userId = user.getString("_id")
        val stored = StoredSession(jsonOf(
            "accessToken" to session.getString("accessToken"), "refreshToken" to session.getString("refreshToken"),
            "expiresAt" to loop.clock.now() + session.getLong("expiresIn") * 1000, "userId" to userId,
            "isGuest" to (user.optString("loginType") == "guest"), "baseUrl" to baseUrl,
        ))
        slot.write(stored.toString())
        onChange(AuthChange(reason, true, userId))
        return stored
    }

    /** Also removes what cannot be read: a phone that has lost its key can never read it again. */
    private suspend fun clear(reason: AuthChangeReason) {
        val text = runCatching { slot.read() }
        val json = parseObject(text.getOrNull())
        if (text.isFailure || (json?.textOrNull("baseUrl") ?: baseUrl) == baseUrl) slot.clear()
        if (text.isFailure || toSession(text.getOrNull()) != null) onChange(AuthChange(reason, false, null))
    }

    /** Once, and only if no other session has replaced it: the server may have ended a guest's session for a sign-in. */
    private suspend fun end(refused: String) {
        for (signIn in signIns.toList()) runCatching { signIn.await() }
        changing.run {
            if (read()?.accessToken != refused) return@run
            if (deletion == Deletion.Sent(refused)) deletion = Deletion.Confirmed
            clear(AuthChangeReason.SESSION_ENDED)
        }
    }

    /** The server repeats a lost response. Together the delays outlast the 5 s in which another process may refresh. */
    private suspend fun refresh(staleToken: String): StoredSession {
        for (delay in listOf(500L, 2_000L, 3_000L, null)) {
            val stored = read() ?: throw notSignedIn()
            // Another process or an earlier caller has already refreshed it.
            if (stored.accessToken != staleToken) return stored
            try {
                return exchange(stored)
            } catch (error: HomeportError) {
                if (error.isSessionEnded) {
                    end(staleToken)
                    return read() ?: throw error
                }
                val isTransient = error.code in setOf("network_error", "timeout", "conflict") || error.status >= 500
                if (delay == null || !isTransient) throw error
                loop.sleep(delay)
            }
        }
        throw notSignedIn()
    }

    private suspend fun exchange(stored: StoredSession): StoredSession {
        val session = exchangeRefreshToken(stored.refreshToken)
        return changing.run {
            // In the meantime the user may have signed out, or another user signed in.
            if (read()?.refreshToken == stored.refreshToken) store(session, AuthChangeReason.REFRESHED)
            else StoredSession(JSONObject(session.toString()).put("expiresAt", 0).put("userId", stored.userId))
        }
    }
}

private fun readSession(reply: Envelope): JSONObject {
    val json = reply.json.opt("response") as? JSONObject ?: throw noSession()
    val isSession = json.opt("accessToken") is String && json.opt("refreshToken") is String &&
        json.opt("expiresIn") is Number && json.optJSONObject("user")?.opt("_id") is String
    return if (isSession || json.opt("challengeToken") is String) json else throw noSession()
}

private val HomeportError.isSessionEnded get() = code == "unauthenticated" && isGenuine
private val HomeportError.isTokenRefused get() = isSessionEnded || (code == "token_expired" && isGenuine)

private fun noSession() = HomeportError(200, "reply_invalid", "The server's response has no session.")
private fun notSignedIn() = HomeportError(401, "unauthenticated", "No user is signed in.", isGenuine = true)
private fun userChanged() = HomeportError(0, "conflict", "Another user has since signed in.")
private fun alreadySignedIn() = HomeportError(0, "conflict", "A user is signed in: sign out first.")
private fun tokenLost() = HomeportError(
    0, "token_lost", "The account was created without the guest's data: an intermediary removed the token.",
)
private fun sessionEnded(cause: Throwable) = HomeportError(
    401, "session_ended", cause = cause, message = "The session on this device has ended, so the account cannot take " +
        "over the guest's data. Try again to continue without that data.",
)

// endregion
// region Caller

/** The content of a call. [onText] receives an event stream, [onHeaders] the headers of each response. */
internal class Content(
    val deadline: Deadline, val body: Body? = null, val query: Map<String, Any?> = emptyMap(),
    val headers: Map<String, String> = emptyMap(), val onText: ((String) -> Unit)? = null,
    val onHeaders: (((String) -> String?) -> Unit)? = null,
)

/** A request body, which is opened for each attempt. */
class Body(val contentType: String, val size: Long, val open: () -> InputStream) {
    companion object {
        internal fun of(contentType: String, bytes: ByteArray) =
            Body(contentType, bytes.size.toLong()) { ByteArrayInputStream(bytes) }

        internal fun json(value: JSONObject) = of("application/json", value.toString().toByteArray())

        /** `multipart/form-data` (RFC 7578). Throws `file_unreadable`. */
        internal fun form(files: List<UploadFile>): Body {
            val boundary = "homeport-${randomHex()}"
            val heads = files.map { file ->
                // Quoted as in RFC 822. The server decodes `%25`.
                val name = file.name.replace("%", "%25").replace(Regex("[\r\n]+"), " ").replace(Regex("[\"\\\\]"), "\\\\$0")
                val type = file.type?.takeIf { it.isNotEmpty() } ?: "application/octet-stream"
                ("--$boundary\r\nContent-Disposition: form-data; name=\"file\"; filename=\"$name\"\r\n" +
                    "Content-Type: $type\r\n\r\n").toByteArray()
            }
            files.forEach { file -> if (file.size < 0) throw unreadable(file, null) else open(file).close() }
            val end = "--$boundary--\r\n".toByteArray()
            val size = files.sumOf { it.size + 2 } + heads.sumOf { it.size } + end.size
            return Body("multipart/form-data; boundary=$boundary", size) {
                val parts = files.zip(heads).flatMap { (file, head) ->
                    listOf({ head.inputStream() }, { open(file) }, { "\r\n".toByteArray().inputStream() })
                } + { end.inputStream() }
                // Lazily, so that one file is open at a time.
                val streams = parts.iterator()
                SequenceInputStream(object : java.util.Enumeration<InputStream> {
                    override fun hasMoreElements() = streams.hasNext()
                    override fun nextElement() = streams.next()()
                })
            }
        }

        private fun open(file: UploadFile): InputStream =
            try { file.open() } catch (cause: Exception) { throw unreadable(file, cause) }

        private fun unreadable(file: UploadFile, cause: Throwable?) =
            HomeportError(0, "file_unreadable", "The file ${file.name} cannot be read.", cause = cause)
    }
}

/** A response of Homeport: `code`, `response`, `message` and `next`. */
internal class Envelope(val json: JSONObject) {
    val message: String get() = json.optString("message")
    val data: Any get() = json.opt("response") ?: json
    fun <T> one(from: (JSONObject) -> T): T = decode { from(data as JSONObject) }
    fun <T> many(from: (JSONObject) -> T): List<T> = decode { list(data, from) }
}

/** Turns calls into requests, and responses into envelopes or errors. */
internal class Caller(private val send: Send, private val commonHeaders: () -> Map<String, String>, private val loop: Loop) {
    suspend fun call(method: String, path: String, token: String?, content: Content): Envelope {
        val pairs = content.query.mapNotNull { (name, value) -> value?.let { "$name=${encodeParameter(it.toString())}" } }
        val target = path + if (pairs.isEmpty()) "" else pairs.joinToString("&", "?")
        val request: suspend () -> Envelope = {
            val headers = commonHeaders() + content.headers
            val reply = send(Request(method.uppercase(Locale.ROOT), target, headers, token, content))
            content.onHeaders?.invoke(reply.header)
            if (reply.isStream) Envelope(jsonOf("code" to "ok")) else readEnvelope(reply, method)
        }
        return if (method == "get") withRetries(content.deadline, request) else request()
    }

    /** Only reads are retried automatically. */
    private suspend fun withRetries(deadline: Deadline, request: suspend () -> Envelope): Envelope {
        for (delay in listOf(300, 1_000)) {
            try {
                return request()
            } catch (error: HomeportError) {
                val wait = waitBeforeRetry(error, delay)
                if (wait == null || deadline.failure != null) throw error
                loop.sleep(wait)
            }
        }
        return request()
    }

    /** In ms, randomized so that phones do not all retry at once; null if a retry would not help. */
    private fun waitBeforeRetry(error: HomeportError, delay: Int): Long? {
        val isTransient = error.code == "network_error" || error.status in setOf(502, 503, 504)
        val requestedSeconds = error.retryAfter ?: 0
        if (!isTransient || requestedSeconds > MAX_RETRY_AFTER_SECONDS) return null
        return maxOf((delay * (0.5 + loop.random())).toLong(), requestedSeconds * 1000)
    }

    /** A captive portal, for example, can return the same status as Homeport. */
    private fun readEnvelope(reply: Reply, method: String): Envelope {
        val json = parseObject(reply.text) ?: JSONObject()
        val code = json.opt("code") as? String
        val message = json.opt("message") as? String
        val hasData = json.opt("response") is JSONObject || json.opt("response") is JSONArray
        val isSuccess = code != null && (hasData || (method != "get" && message != null))
        if (reply.status < 400 && isSuccess) return Envelope(json)
        val isFailure = reply.status >= 400 && code != null
        throw HomeportError(
            reply.status,
            if (code != null && isFailure) code else "reply_invalid",
            message.takeIf { isFailure } ?: "The server answered ${reply.status} with a response that cannot be read.",
            list(json.optJSONArray("details") ?: JSONArray()) { HomeportError.Detail(it.optString("path"), it.optString("message")) },
            json.textOrNull("requestId"),
            parseRetryAfter(reply.header("retry-after")),
            reply.isGenuine,
        )
    }

    /** `Retry-After` (RFC 9110) is a number of seconds or a date. */
    private fun parseRetryAfter(text: String?): Long? {
        val seconds = if (text == null || !Regex("[\\d.]+").matches(text)) {
            parseHttpDate(text)?.let { (it - loop.clock.now()) / 1000.0 }
        } else text.toDoubleOrNull()
        return seconds?.let { maxOf(0, ceil(it).toLong()) }
    }
}

/** The timeout and cancellation of one call. [timeoutMs]: for an upload, the longest time without progress. */
internal class Deadline(val timeoutMs: Long, private val loop: Loop, private val onFailure: (HomeportError) -> Unit) {
    var failure: HomeportError? = null
        private set
    var onProgress: ((Progress) -> Unit)? = null
    /** Cancels the current request. */
    var cancelRequest: () -> Unit = {}
    private var stopTimer: () -> Unit = {}

    /** The call has [ms] from now. */
    fun restart(ms: Long) {
        stopTimer()
        if (failure == null && ms <= MAX_TIMER_MS) {
            stopTimer = loop.schedule(ms) { fail("timeout", "The server did not answer in time.") }
        }
    }

    fun fail(code: String, message: String) {
        if (failure != null) return
        finish()
        failure = HomeportError(0, code, message).also(onFailure)
        cancelRequest()
    }

    fun finish() = stopTimer()
}

/** Fails at once on cancellation or timeout, even while waiting for a retry, a refresh or the storage. */
internal suspend fun <T> withDeadline(
    loop: Loop, cancellation: Cancellation?, timeoutMs: Long, work: suspend (Deadline) -> T,
): T {
    require(timeoutMs > 0) { "timeout must be above 0, or Duration.INFINITE." }
    val done = Pending<T>()
    val deadline = Deadline(timeoutMs, loop) { done.complete(Result.failure(it)) }
    val abort = { deadline.fail("aborted", "The call was cancelled.") }
    if (cancellation?.isCancelled == true) abort() else deadline.restart(timeoutMs)
    val stopListening = cancellation?.listen { loop.post(abort) }
    if (deadline.failure == null) loop.launch { work(deadline) }.onDone { result ->
        deadline.finish()
        done.complete(result.recoverCatching { throw asHomeportError(it) })
    }
    return try { done.await() } finally { stopListening?.invoke() }
}

private fun asHomeportError(error: Throwable) =
    error as? HomeportError ?: HomeportError(0, "unexpected", error.toString(), cause = error)

/** A request before it is sealed, or sent unsealed. [target]: path and query, percent-encoded. */
internal class Request(
    val method: String, val target: String, val headers: Map<String, String>, val token: String?, val content: Content,
)

/** An opened response. [isGenuine]: the server sealed it, or sealing is off. [sealedAt]: in ms. */
internal class Reply(
    val status: Int, val text: String, val header: (String) -> String?, val isStream: Boolean = false,
    val isGenuine: Boolean = false, val sealedAt: Long? = null, val bytes: ByteArray = ByteArray(0),
)

internal typealias Send = suspend (Request) -> Reply

private fun openTransport(
    baseUrl: String, env: String?, pinnedKeys: List<String>?, loop: Loop, transmitter: Transmitter,
): Send {
    if (env == null || env in setOf("", "null", "undefined", "test")) {
        require(pinnedKeys == null) { "pinnedKeys has no effect without an env that seals, such as production." }
        return { request ->
            val authorization = request.token?.let { mapOf("authorization" to "Bearer $it") } ?: emptyMap()
            val content = request.content
            val type = content.body?.let { mapOf("content-type" to it.contentType) } ?: emptyMap()
            val headers = request.headers + authorization + type + ("env" to "test")
            val sent = HttpRequest(request.method, baseUrl + request.target, headers, content.body)
            transmitter.send(sent, content.deadline, content.onText, isGenuine = true)
        }
    }
    return SealedTransport(baseUrl, env, pinnedKeys, loop, transmitter)::send
}

private fun normalizeBaseUrl(baseUrl: String): String {
    val isAddress = Regex("https?://[^\\s/?#@]+(/[^\\s?#]*)?", RegexOption.IGNORE_CASE).matches(baseUrl)
    require(isAddress) { "baseUrl must be an address such as https://api.example.com; it is \"$baseUrl\"." }
    return baseUrl.trimEnd('/')
}

// endregion

// region Loop and network

/** What tests replace. */
class Platform(
    val transport: Transport = defaultTransport(),
    val clock: Clock = SystemClock,
    /** From 0 to 1. */
    val random: () -> Double = Math::random,
)

/** The platform's clock. All times are in ms. */
interface Clock {
    /** Since 1970. */
    fun now(): Long

    /** Since any moment: it cannot be set. */
    fun elapsed(): Long

    /** Calls [work] once, after [ms]. Returns a function that cancels it. */
    fun schedule(ms: Long, work: () -> Unit): () -> Unit
}

internal object SystemClock : Clock {
    private val timers = ScheduledThreadPoolExecutor(1, daemonThreads("timers")).apply { removeOnCancelPolicy = true }
    override fun now() = System.currentTimeMillis()
    override fun elapsed() = System.nanoTime() / 1_000_000
    override fun schedule(ms: Long, work: () -> Unit): () -> Unit {
        val timer = timers.schedule(work, ms, TimeUnit.MILLISECONDS)
        return { timer.cancel(false) }
    }
}

private val workers = Executors.newCachedThreadPool(daemonThreads("worker"))

private fun daemonThreads(name: String) =
    ThreadFactory { work -> Thread(work, "homeport-$name").apply { isDaemon = true } }

/** Runs the client's code on one thread, so that nothing of it runs at the same time. */
internal class Loop(platform: Platform) : AbstractCoroutineContextElement(ContinuationInterceptor), ContinuationInterceptor {
    val clock = platform.clock
    val random = platform.random
    private val thread = Executors.newSingleThreadExecutor(daemonThreads("client"))

    fun post(work: () -> Unit) = thread.execute(work)

    override fun <T> interceptContinuation(continuation: Continuation<T>): Continuation<T> =
        Continuation(continuation.context) { result -> post { continuation.resumeWith(result) } }

    fun <T> launch(work: suspend () -> T): Pending<T> {
        val pending = Pending<T>()
        work.startCoroutine(Continuation(this) { pending.complete(it) })
        return pending
    }

    /** Runs [work] on the loop for a caller outside of it, whose thread is not used. */
    suspend fun <T> enter(work: suspend () -> T): T = suspendCoroutine { caller ->
        work.startCoroutine(Continuation(this) { result ->
            if (caller.context[ContinuationInterceptor] == null) workers.execute { caller.resumeWith(result) }
            else caller.resumeWith(result)
        })
    }

    /** Runs [work], which may take long, on another thread. */
    suspend fun <T> blocking(executor: Executor = workers, work: () -> T): T = suspendCoroutine { continuation ->
        executor.execute { continuation.resumeWith(runCatching(work)) }
    }

    fun schedule(ms: Long, work: () -> Unit): () -> Unit = clock.schedule(ms) { post(work) }

    suspend fun sleep(ms: Long): Unit = suspendCoroutine { continuation -> schedule(ms) { continuation.resume(Unit) } }
}

/** A result for any number of waiting coroutines of the loop. */
internal class Pending<T> {
    private var result: Result<T>? = null
    private val waiting = mutableListOf<(Result<T>) -> Unit>()

    fun complete(value: Result<T>) {
        if (result != null) return
        result = value
        waiting.forEach { it(value) }
    }

    fun onDone(listener: (Result<T>) -> Unit) {
        result?.let(listener) ?: waiting.add(listener)
    }

    suspend fun await(): T = suspendCoroutine { continuation -> onDone(continuation::resumeWith) }
}

/** Runs one change at a time: each depends on what it finds, and the storage may be slow. */
internal class Mutex {
    private var last = Pending<Unit>().apply { complete(Result.success(Unit)) }

    suspend fun <T> run(change: suspend () -> T): T {
        val before = last
        val done = Pending<Unit>().also { last = it }
        before.await()
        return try { change() } finally { done.complete(Result.success(Unit)) }
    }
}

/** Listeners of the loop. */
internal class Listeners<T> {
    private val listeners = CopyOnWriteArrayList<(T) -> Unit>()
    fun notify(value: T) = listeners.forEach { it(value) }

    /** Returns a function that stops it. */
    fun add(listener: (T) -> Unit): () -> Unit {
        val registered: (T) -> Unit = { listener(it) }
        listeners.add(registered)
        return { listeners.remove(registered) }
    }
}

class HttpRequest(val method: String, val url: String, val headers: Map<String, String>, val body: Body?)

class HttpReply(val status: Int, val header: (String) -> String?, val body: InputStream)

/** Sends requests. Both functions of an exchange are called on threads that may block. */
interface Transport {
    /** [onSent]: called with the bytes that have been sent. */
    fun start(request: HttpRequest, onSent: (Long) -> Unit): Exchange

    interface Exchange {
        /** Returns once the headers of the response are there. Throws an IOException. */
        fun reply(): HttpReply
        fun cancel()
    }
}

/** The transport of Android; the JVM's own HttpURLConnection refuses PATCH. */
internal fun defaultTransport(): Transport =
    if (runCatching { Class.forName("java.net.http.HttpClient") }.isSuccess) JvmTransport else AndroidTransport

internal object AndroidTransport : Transport {
    override fun start(request: HttpRequest, onSent: (Long) -> Unit) = object : Transport.Exchange {
        private val connection = URL(request.url).openConnection() as HttpURLConnection

        override fun reply(): HttpReply {
            connection.requestMethod = request.method
            connection.useCaches = false
            connection.instanceFollowRedirects = false
            request.headers.forEach(connection::setRequestProperty)
            request.body?.let { body ->
                connection.doOutput = true
                // The platform repeats no request that it streams.
                connection.setFixedLengthStreamingMode(body.size)
                Counting(body.open(), onSent).use { input -> connection.outputStream.use { input.copyTo(it) } }
            }
            val status = connection.responseCode
            val body = (if (status < 400) connection.inputStream else connection.errorStream) ?: ByteArray(0).inputStream()
            return HttpReply(status, connection::getHeaderField, body)
        }

        override fun cancel() = connection.disconnect()
    }
}

/** java.net.http, called by its names because Android lacks it. */
internal object JvmTransport : Transport {
    private val client by lazy {
        val builder = call("HttpClient", null, "newBuilder")
        call("HttpClient\$Builder", builder, "version", Class.forName("java.net.http.HttpClient\$Version").enumConstants[0])
        call("HttpClient\$Builder", builder, "build")
    }

    override fun start(request: HttpRequest, onSent: (Long) -> Unit): Transport.Exchange {
        val builder = call("HttpRequest", null, "newBuilder", URI(request.url))
        request.headers.forEach { (name, value) -> call("HttpRequest\$Builder", builder, "header", name, value) }
        val publisher = request.body?.let { body ->
            val open = Supplier<InputStream> { Counting(body.open(), onSent) }
            val chunked = call("HttpRequest\$BodyPublishers", null, "ofInputStream", open)
            call("HttpRequest\$BodyPublishers", null, "fromPublisher", chunked, body.size)
        } ?: call("HttpRequest\$BodyPublishers", null, "noBody")
        call("HttpRequest\$Builder", builder, "method", request.method, publisher)
        val handler = call("HttpResponse\$BodyHandlers", null, "ofInputStream")
        val sending = call("HttpClient", client, "sendAsync", call("HttpRequest\$Builder", builder, "build"), handler)
        return exchange(sending as CompletableFuture<*>)
    }

    private fun exchange(sending: CompletableFuture<*>) = object : Transport.Exchange {
        override fun reply(): HttpReply {
            val response = try { sending.get() } catch (error: ExecutionException) { throw error.cause ?: error }
            val headers = call("HttpResponse", response, "headers")
            val header = { name: String -> (call("HttpHeaders", headers, "firstValue", name) as Optional<*>).orElse(null) as String? }
            val body = call("HttpResponse", response, "body") as InputStream
            return HttpReply(call("HttpResponse", response, "statusCode") as Int, header, body)
        }

        override fun cancel() {
            sending.whenComplete { response, _ ->
                if (response != null) (call("HttpResponse", response, "body") as InputStream).close()
            }
            sending.cancel(true)
        }
    }

    private fun call(type: String, target: Any?, name: String, vararg args: Any?): Any? =
        Class.forName("java.net.http.$type").methods.first { it.name == name && it.parameterCount == args.size }
            .invoke(target, *args)
}

/** Reports how much has been read. */
private class Counting(private val input: InputStream, private val onRead: (Long) -> Unit) : InputStream() {
    private var count = 0L
    override fun read() = input.read().also { if (it >= 0) onRead(++count) }
    override fun read(bytes: ByteArray, offset: Int, length: Int): Int {
        val size = input.read(bytes, offset, length)
        if (size > 0) { count += size; onRead(count) }
        return size
    }
    override fun close() = input.close()
}

internal class Transmitter(private val loop: Loop, private val transport: Transport) {
    /** [onText] receives an event stream, which is never sealed. */
    suspend fun send(
        request: HttpRequest, deadline: Deadline, onText: ((String) -> Unit)?, isGenuine: Boolean = false,
    ): Reply {
        deadline.failure?.let { throw it }
        // A cached read would hide a change that `onChange` has just reported.
        val caching = if (request.method == "GET") mapOf("cache-control" to "no-cache") else emptyMap()
        val sent = HttpRequest(request.method, request.url, request.headers + caching, request.body)
        val onProgress = deadline.onProgress
        if (onProgress != null) deadline.restart(deadline.timeoutMs)
        val report = { count: Long ->
            if (onProgress != null) loop.post {
                deadline.restart(deadline.timeoutMs)
                onProgress(Progress(count, request.body?.size ?: 0))
            }
        }
        try {
            val exchange = loop.blocking { transport.start(sent, report) }
            deadline.cancelRequest = { workers.execute(exchange::cancel) }
            if (deadline.failure != null) deadline.cancelRequest()
            return loop.blocking { receive(exchange.reply(), onText, isGenuine) }
        } catch (cause: Exception) {
            deadline.failure?.let { throw it }
            throw generateSequence<Throwable>(cause) { it.cause }.firstNotNullOfOrNull { it as? HomeportError }
                ?: HomeportError(0, "network_error", "The server cannot be reached.", cause = cause)
        }
    }

    private fun receive(reply: HttpReply, onText: ((String) -> Unit)?, isGenuine: Boolean): Reply {
        val isStream = reply.header("content-type")?.startsWith("text/event-stream") == true
        if (onText == null || !isStream) {
            val bytes = reply.body.use { it.readBytes() }
            return Reply(reply.status, String(bytes, Charsets.UTF_8), reply.header, isGenuine = isGenuine)
        }
        try {
            InputStreamReader(reply.body, Charsets.UTF_8).use { reader ->
                val buffer = CharArray(4096)
                while (true) {
                    val size = reader.read(buffer)
                    if (size < 0) break
                    val text = String(buffer, 0, size)
                    loop.post { onText(text) }
                }
            }
        } catch (_: IOException) {
            // The caller connects again in either case.
        }
        return Reply(reply.status, "", reply.header, isStream = true, isGenuine = isGenuine)
    }
}

// endregion
// region Sealing

internal class ServerKey(val kid: String, val key: ECPublicKey)

/** A sealed request, and what its response must match. */
internal class Sealed(val message: String, val jti: String, val replyKey: ByteArray)

/** Seals requests, and opens their responses: no intermediary can read, change or repeat them. */
internal class SealedTransport(
    private val baseUrl: String, private val env: String, private val pinnedKeys: List<String>?,
    private val loop: Loop, private val transmitter: Transmitter,
) {
    private val clock = loop.clock
    private var known: Pair<ServerKey, Long>? = null
    private var reading: Pending<ServerKey>? = null
    /** How far the server's clock is ahead of ours, in ms. */
    private var clockOffset = 0L

    /**
     * Seals again for another key or clock, once each. A plain response reports these, which an intermediary can forge
     * after the request was executed: every attempt has the same id, and the time must come from a sealed response.
     */
    suspend fun send(request: Request): Reply {
        val id = randomId()
        val startedAt = clock.elapsed()
        val handled = mutableSetOf<String?>()
        while (true) {
            val at = clock.now() + clockOffset
            val reply = exchange(request, id, at)
            val code = if (reply.isGenuine) null else parseObject(reply.text)?.textOrNull("code")
            if (code in handled || !recover(code, reply.text, at, request.content.deadline)) return reply
            // By now the server may have forgotten the first message, and would execute the request twice.
            if (clock.elapsed() - startedAt > RESEND_WINDOW_MS) return reply
            handled.add(code)
        }
    }

    /** Fixes what made the server refuse a message sealed at [at]. Returns whether to retry. */
    private suspend fun recover(code: String?, text: String, at: Long, deadline: Deadline): Boolean {
        if (code == "encryption_stale") return syncClock(at, text, deadline)
        if (code != "encryption_unknown_key") return false
        renewKey()
        return true
    }

    /** Reads the server's clock. Returns whether a message sealed at [at] is stale. */
    private suspend fun syncClock(at: Long, text: String, deadline: Deadline): Boolean {
        val time = Regex("\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z").find(text)?.value
        val claimed = runCatching { Instant.parse(time).toEpochMilli() }.getOrDefault(clock.now())
        val onProgress = deadline.onProgress.also { deadline.onProgress = null }
        val startedAt = clock.now()
        val reply = exchange(Request("GET", CONTENT_VERSION, emptyMap(), null, Content(deadline)), randomId(), claimed)
        deadline.onProgress = onProgress
        val sealedAt = reply.sealedAt ?: return false
        if (Math.abs(clock.now() - startedAt) > MAX_CLOCK_ROUND_TRIP_MS) return false
        clockOffset = sealedAt - clock.now()
        return Math.abs(sealedAt - at) > FRESHNESS_MS
    }

    private suspend fun exchange(request: Request, id: String, at: Long): Reply {
        val body = request.content.body
        val key = currentKey()
        val sealed = loop.blocking {
            seal(request.method, request.target, request.token, body?.contentType, body?.open?.invoke()?.use { it.readBytes() }, key, at, id)
        }
        val headers = request.headers + mapOf("env" to env) +
            if (body == null) mapOf("payload" to sealed.message) else mapOf("content-type" to JOSE)
        val jose = if (body == null) null else Body.of(JOSE, sealed.message.toByteArray())
        val sent = HttpRequest(request.method, baseUrl + request.target, headers, jose)
        val reply = transmitter.send(sent, request.content.deadline, request.content.onText)
        if (reply.isStream) return reply
        if (reply.header("content-type")?.startsWith(JOSE) != true) {
            if (reply.status >= 400) return reply
            throw HomeportError(
                reply.status, "reply_not_sealed",
                "The response is not sealed: it comes from an intermediary between the app and the server.",
            )
        }
        return openReply(reply, sealed)
    }

    private suspend fun currentKey(): ServerKey {
        val (key, readAt) = known ?: return renewKey()
        if (clock.now() - readAt < KEYS_LIFETIME_MS) return key
        return try {
            readSharedKey()
        } catch (error: HomeportError) {
            // The server accepts an old key for weeks, so it still works while the keys cannot be read.
            if (error.code == "no_trusted_key") throw error else key
        }
    }

    private suspend fun renewKey(): ServerKey {
        known = null
        return readSharedKey()
    }

    /** Callers share the result, so no caller's cancellation or timeout ends it. */
    private suspend fun readSharedKey(): ServerKey {
        val running = reading ?: loop.launch { withDeadline(loop, null, 30_000, ::readKey) }.also { started ->
            reading = started
            started.onDone { reading = null }
        }
        return running.await()
    }

    private suspend fun readKey(deadline: Deadline): ServerKey {
        // Intermediate caches could still hold a key that has just been retired.
        val request = HttpRequest("GET", "$baseUrl/.well-known/jwks.json?at=${clock.now()}", emptyMap(), null)
        val reply = transmitter.send(request, deadline, null)
        try {
            val keys = list(parseObject(reply.text)!!.getJSONArray("keys")) { it }.filter { jwk ->
                jwk.opt("use") == "enc" && jwk.opt("kty") == "EC" && jwk.opt("crv") == "P-256" &&
                    jwk.opt("x") is String && jwk.opt("y") is String
            }
            // The current key comes first, then older ones for apps that have pinned them. The thumbprint is computed:
            // the key's own `kid` proves nothing.
            val jwk = keys.firstOrNull { pinnedKeys == null || thumbprint(it) in pinnedKeys } ?: throw HomeportError(
                0, "no_trusted_key", "The server publishes no key that this app trusts.",
            )
            return ServerKey(thumbprint(jwk), publicKey(jwk)).also { known = it to clock.now() }
        } catch (cause: Exception) {
            throw cause as? HomeportError ?: HomeportError(
                reply.status, "reply_invalid", cause = cause,
                message = "The server publishes no keys: check that baseUrl is its address, without a path.",
            )
        }
    }
}

/** A compact JWE (RFC 7516: ECDH-ES, A256GCM). [at] in ms. The server executes each [jti] once. */
internal fun seal(
    method: String, target: String, token: String?, contentType: String?, body: ByteArray?, server: ServerKey,
    at: Long, jti: String, ephemeral: KeyPair = newKeyPair(), iv: ByteArray = randomBytes(12), replyKey: ByteArray = randomBytes(32),
): Sealed {
    val line = jsonOf(
        "v" to 1, "jti" to jti, "iat" to at / 1000, "htm" to method, "htu" to target,
        "ath" to (token?.let { base64url(sha256(it.toByteArray())) } ?: JSONObject.NULL),
        // Inside the sealed part: in a header, an intermediary could read the token and use it.
        "at" to token, "rk" to base64url(replyKey),
    )
    val header = jsonOf(
        "alg" to "ECDH-ES", "enc" to "A256GCM", "kid" to server.kid, "typ" to "req+jwe", "cty" to contentType,
        "epk" to jwkOf(ephemeral.public as ECPublicKey),
    )
    val plaintext = "$line\n".toByteArray() + (body ?: ByteArray(0))
    return Sealed(encrypt(header.toString(), plaintext, contentKey(ephemeral, server.key), iv), jti, replyKey)
}

/** The Concat KDF of RFC 7518, section 4.6.2. */
internal fun contentKey(own: KeyPair, other: ECPublicKey): ByteArray {
    val secret = KeyAgreement.getInstance("ECDH").run {
        init(own.private)
        doPhase(other, true)
        generateSecret()
    }
    val algorithm = "A256GCM".toByteArray()
    val info = ByteBuffer.allocate(4 + 4 + algorithm.size + 12)
        .putInt(algorithm.size).put(algorithm).putInt(0).putInt(0).putInt(256).array().copyOf(4 + algorithm.size + 12)
    return sha256(byteArrayOf(0, 0, 0, 1) + secret + info)
}

internal fun encrypt(header: String, plaintext: ByteArray, key: ByteArray, iv: ByteArray): String {
    val protectedHeader = base64url(header.toByteArray())
    val sealed = gcm(Cipher.ENCRYPT_MODE, key, iv, protectedHeader).doFinal(plaintext)
    val (text, tag) = sealed.copyOf(sealed.size - 16) to sealed.copyOfRange(sealed.size - 16, sealed.size)
    return "$protectedHeader..${base64url(iv)}.${base64url(text)}.${base64url(tag)}"
}

/** Opens the response to one request, and refuses any other response. */
internal fun openReply(reply: Reply, sealed: Sealed): Reply = try {
    val (head, key, iv, text, tag) = reply.text.split('.').also { check(it.size == 5) }
    val header = JSONObject(String(fromBase64url(head)))
    check(header.opt("alg") == "dir" && header.opt("enc") == "A256GCM" && key.isEmpty() && !header.has("zip"))
    val content = gcm(Cipher.DECRYPT_MODE, sealed.replyKey, fromBase64url(iv), head).doFinal(fromBase64url(text) + fromBase64url(tag))
    val end = content.indexOf('\n'.code.toByte())
    val line = JSONObject(String(content, 0, end, Charsets.UTF_8))
    check(header.opt("typ") == "res+jwe" && header.opt("kid") == sealed.jti && line.getInt("v") == 1)
    check(line.opt("jti") == sealed.jti && line.getInt("status") == reply.status)
    val readHeader = { name: String -> if (name == "content-type") header.textOrNull("cty") else reply.header(name) }
    val body = String(content, end + 1, content.size - end - 1, Charsets.UTF_8)
    Reply(reply.status, body, readHeader, isGenuine = true, sealedAt = line.getLong("iat") * 1000)
} catch (cause: Exception) {
    val message = "The response is not the one that the server sealed for this request."
    throw HomeportError(reply.status, "reply_invalid", message, cause = cause)
}

private fun gcm(mode: Int, key: ByteArray, iv: ByteArray, authenticated: String): Cipher =
    Cipher.getInstance("AES/GCM/NoPadding").apply {
        init(mode, SecretKeySpec(key, "AES"), GCMParameterSpec(128, iv))
        updateAAD(authenticated.toByteArray())
    }

internal fun newKeyPair(): KeyPair =
    KeyPairGenerator.getInstance("EC").apply { initialize(ECGenParameterSpec("secp256r1")) }.generateKeyPair()

private val P256: ECParameterSpec by lazy { (newKeyPair().public as ECPublicKey).params }

internal fun publicKey(jwk: JSONObject): ECPublicKey {
    val (x, y) = listOf("x", "y").map { BigInteger(1, fromBase64url(jwk.getString(it))) }
    return KeyFactory.getInstance("EC").generatePublic(ECPublicKeySpec(ECPoint(x, y), P256)) as ECPublicKey
}

private fun jwkOf(key: ECPublicKey): JSONObject {
    val (x, y) = listOf(key.w.affineX, key.w.affineY).map { number ->
        val bytes = number.toByteArray().dropWhile { it == 0.toByte() }.toByteArray()
        base64url(ByteArray(32 - bytes.size) + bytes)
    }
    return jsonOf("kty" to "EC", "crv" to "P-256", "x" to x, "y" to y)
}

/** RFC 7638. */
private fun thumbprint(jwk: JSONObject): String {
    val members = listOf("crv", "kty", "x", "y").joinToString(",") { "\"$it\":\"${jwk.getString(it)}\"" }
    return base64url(sha256("{$members}".toByteArray()))
}

// endregion
// region Kept values

/** Keeps the last response of each kind for the signed-in user. */
internal class KeptResponses(
    private val slot: Slot, private val baseUrl: String,
    private val call: suspend (String, String, String?, Content) -> Envelope, private val session: SessionKeeper,
    private val signingKeys: List<String>?, private val loop: Loop,
    private val readValue: suspend (String, String?, CallOptions?) -> Any,
) {
    private val clock = loop.clock
    private val changing = Mutex()
    /** The server's time at a response, and the platform's monotonic clock then, both in ms. */
    private var anchor: Pair<Long, Long>? = null

    /** Sends a request that reads a value, and keeps the response. A storage that fails does not fail the call. */
    suspend fun fetch(name: String, path: String, token: String?, content: Content): Envelope {
        val environment = content.query["environment"] ?: "production"
        val lang = content.query["lang"] as String?
        val current = attempt { session.read() }
        val isOwn = name in PUBLIC || token == current?.accessToken
        if (environment != "production" || !isOwn) return call("get", path, token, content)
        val userId = current?.userId
        val entry = load(userId).entry(name)?.takeIf { it.textOrNull("lang") == lang }
        var etag: String? = null
        var asOf = clock.now()
        val proof = if (name == "subscription") mapOf("proof" to true) else emptyMap()
        val known = entry?.textOrNull("etag")?.let { mapOf("if-none-match" to it) } ?: emptyMap()
        val request = Content(
            content.deadline, query = content.query + proof, headers = content.headers + known,
            onHeaders = { header ->
                etag = header("etag")
                asOf = parseHttpDate(header("date")) ?: clock.now()
            },
        )
        try {
            val reply = call("get", path, token, request)
            keep(userId, name, jsonOf("data" to reply.data, "asOf" to asOf, "etag" to etag, "lang" to lang))
            return reply
        } catch (error: HomeportError) {
            if (entry == null || error.status != 304) throw error
            keep(userId, name, entry.put("asOf", asOf))
            return Envelope(jsonOf("code" to "ok", "response" to entry.get("data")))
        }
    }

    suspend fun <T> readKept(value: KeptValue<T>, lang: String?, options: CallOptions?): Kept<T> {
        val userId = readUserId()
        val memory = load(userId)
        val refresh: suspend () -> Kept<T> = {
            val data = readValue(value.name, lang, options)
            val asOf = load(userId).entry(value.name)?.getLong("asOf") ?: clock.now()
            confirmed(decode { value.decode(data) }, Instant.ofEpochMilli(asOf))
        }
        val entry = memory.entry(value.name)?.takeIf { it.textOrNull("lang") == lang } ?: return refresh()
        val data = judge(value.name, entry, memory)?.let { attempt { value.decode(it) } } ?: return refresh()
        val refreshed = loop.launch(refresh)
        return Kept(data, true, Instant.ofEpochMilli(entry.getLong("asOf"))) { loop.enter { refreshed.await() } }
    }

    private fun <T> confirmed(data: T, asOf: Instant): Kept<T> {
        lateinit var reply: Kept<T>
        reply = Kept(data, false, asOf) { reply }
        return reply
    }

    /** Removes what is kept for another user. If the storage fails it stays, but is shown to nobody else. */
    suspend fun forgetOthers(userId: String?) {
        attempt { if (userId == null || slot.read()?.contains("\"userId\":\"$userId\"") != true) slot.clear() }
    }

    /** What a value is worth now; null for nothing. */
    private suspend fun judge(name: String, entry: JSONObject, memory: JSONObject): Any? {
        val data = entry.get("data")
        if (name != "subscription" || data !is JSONObject) return data
        val userId = memory.textOrNull("userId")
        val claims = readProof(data.optString("proof"), userId ?: "", signingKeys) ?: return null
        // A clock that was set back is behind what has been seen, or what has elapsed since the last response.
        val elapsed = anchor?.let { (server, at) -> server + clock.elapsed() - at } ?: 0
        val at = maxOf(maxOf(clock.now(), memory.getLong("seenAt")), maxOf(elapsed, claims.getLong("iat") * 1000))
        if (at - memory.getLong("seenAt") > SEEN_MS) change(userId) { it.put("seenAt", at) }
        return applyClaims(data, claims, at)
    }

    private suspend fun keep(userId: String?, name: String, entry: JSONObject) {
        val asOf = entry.getLong("asOf")
        anchor = asOf to clock.elapsed()
        change(userId) { memory -> memory.put("seenAt", asOf).getJSONObject("entries").put(name, entry) }
    }

    /** Changes what is kept, unless another user has signed in. */
    private suspend fun change(userId: String?, edit: (JSONObject) -> Unit) {
        attempt {
            changing.run {
                val memory = load(userId).also(edit)
                if (readUserId() == userId) slot.write(memory.toString())
                if (readUserId() != userId) slot.clear()
            }
        }
    }

    private suspend fun readUserId(): String? = attempt { session.read() }?.userId

    /** Empty for another user or server, and if it cannot be read. */
    private suspend fun load(userId: String?): JSONObject {
        val memory = parseObject(attempt { slot.read() })
        val isOwn = memory?.opt("baseUrl") == baseUrl && memory.textOrNull("userId") == userId
        if (memory != null && isOwn && memory.opt("entries") is JSONObject && memory.opt("seenAt") is Number) return memory
        return jsonOf(
            "baseUrl" to baseUrl, "userId" to (userId ?: JSONObject.NULL), "seenAt" to 0, "entries" to JSONObject(),
        )
    }

    private fun JSONObject.entry(name: String): JSONObject? =
        getJSONObject("entries").optJSONObject(name)?.takeIf { it.has("data") && it.opt("asOf") is Number }
}

/**
 * Returns the claims of a subscription's proof (JWS, ES256); null if the signature is not that of its key, the key is
 * not trusted, or the proof is another user's or of test purchases.
 */
internal fun readProof(proof: String, userId: String, trustedKeys: List<String>?): JSONObject? = runCatching {
    val (header, payload, signature) = proof.split('.')
    val head = JSONObject(String(fromBase64url(header)))
    val jwk = head.getJSONObject("jwk")
    check(head.opt("alg") == "ES256" && head.opt("typ") == "access+jwt")
    check(trustedKeys == null || thumbprint(jwk) in trustedKeys)
    val isSigned = Signature.getInstance("SHA256withECDSA").run {
        initVerify(publicKey(jwk))
        update("$header.$payload".toByteArray())
        verify(derSignature(fromBase64url(signature)))
    }
    JSONObject(String(fromBase64url(payload))).takeIf {
        isSigned && it.opt("sub") == userId && it.opt("environment") == "production"
    }
}.getOrNull()

/** JCA takes the two numbers of a signature in DER. */
private fun derSignature(raw: ByteArray): ByteArray {
    check(raw.size == 64)
    val numbers = listOf(raw.copyOf(32), raw.copyOfRange(32, 64)).map { BigInteger(1, it).toByteArray() }
    val body = numbers.fold(ByteArray(0)) { all, it -> all + byteArrayOf(2, it.size.toByte()) + it }
    return byteArrayOf(0x30, body.size.toByte()) + body
}

/** The subscription as of [now] (ms): the access that the claims prove, and nothing that has ended. */
internal fun applyClaims(kept: JSONObject, claims: JSONObject, now: Long): JSONObject {
    val result = JSONObject(kept.toString())
    val isOn = { values: JSONObject, name: String ->
        values.has(name) && (values.isNull(name) || values.getLong(name) * 1000 > now)
    }
    val ends = claims.getJSONObject("entitlements")
    for (entitlement in list(result.getJSONArray("entitlements")) { it }) {
        val id = entitlement.getString("id")
        if (!entitlement.getBoolean("active") || !isOn(ends, id)) entitlement.put("active", false)
        else entitlement.put("expiresAt", if (ends.isNull(id)) JSONObject.NULL else Instant.ofEpochSecond(ends.getLong(id)).toString())
    }
    for (purchase in list(result.getJSONArray("subscriptions")) { it }) {
        val end = purchase.textOrNull("effectiveEndAt")
        val hasEnded = end != null && Instant.parse(end).toEpochMilli() <= now
        if (hasEnded && purchase.opt("status") != "refunded") purchase.put("status", "expired")
    }
    val plan = claims.optJSONObject("plan")
    val hasPlan = plan != null && isOn(plan, "exp") && result.optJSONObject("plan") != null
    if (hasPlan) result.getJSONObject("plan").put("_id", plan.getString("id")).put("code", plan.getString("code"))
    else result.put("plan", JSONObject.NULL).put("limits", JSONObject.NULL)
    return result
}

// endregion
// region Changes

/** All listeners share one connection. */
internal class ChangeStream(
    private val call: suspend (String, String, String?, Content) -> Envelope,
    private val withToken: suspend (suspend (String) -> Envelope) -> Envelope, private val session: SessionKeeper,
    private val authChanges: Listeners<AuthChange>, private val loop: Loop,
    private val notifyApp: (Change, (Change) -> Unit) -> Unit,
) {
    private val listeners = mutableListOf<(Change) -> Unit>()
    /** Listeners that have not been called yet: a connection must be ready first. */
    private val newListeners = mutableListOf<(Change) -> Unit>()
    private var lastEventId: String? = null
    private var retryMs = RETRY_MS
    private var failures = 0
    private var isReady = false
    private var connection: Cancellation? = null
    private var wakes = 0
    private var endPause: () -> Unit = {}
    private var stop: () -> Unit = {}

    fun add(listener: (Change) -> Unit) {
        listeners.add(listener)
        if (listeners.size == 1) start()
        else if (isReady) KINDS.forEach { notifyApp(Change(it), listener) }
        else newListeners.add(listener)
    }

    fun remove(listener: (Change) -> Unit) {
        newListeners.remove(listener)
        if (listeners.remove(listener) && listeners.isEmpty()) stop()
    }

    private fun start() {
        var isStopped = false
        lastEventId = null
        val stopListening = authChanges.add { if (it.reason != AuthChangeReason.REFRESHED) restart() }
        stop = {
            isStopped = true
            stopListening()
            restart()
        }
        loop.launch { follow { isStopped } }
    }

    private suspend fun follow(isStopped: () -> Boolean) {
        while (!isStopped()) {
            val wakesBefore = wakes
            val stored = runCatching { session.read() }
            if (isStopped()) return
            if (stored.isSuccess && stored.getOrNull() == null) {
                if (wakes == wakesBefore) pause(null)
                continue
            }
            // The storage may fail, as that of a locked phone may.
            if (stored.isFailure || runCatching { connect() }.isFailure) failures++
            if (!isStopped()) pause(nextDelay())
        }
    }

    private suspend fun connect() {
        val cancellation = Cancellation().also { connection = it }
        try {
            withDeadline(loop, cancellation, MAX_SILENCE_MS) { deadline ->
                val parser = EventParser(::receive)
                val onText = { text: String ->
                    if (!cancellation.isCancelled) {
                        deadline.restart(MAX_SILENCE_MS)
                        parser.add(text)
                    }
                }
                withToken { token ->
                    val headers = lastEventId?.let { mapOf("last-event-id" to it) } ?: emptyMap()
                    call("get", CHANGES, token, Content(deadline, headers = headers, onText = onText))
                }
            }
        } finally {
            isReady = false
        }
    }

    private fun receive(event: Map<String, String>) {
        val isFirst = lastEventId == null
        lastEventId = event["id"] ?: lastEventId
        retryMs = event["retry"]?.toLongOrNull() ?: retryMs
        val name = event["event"]
        // The next connection finds out whether the session has really ended.
        if (name == null || name == "signed-out") return
        if (name != "ready") return listeners.toList().forEach { notifyApp(Change(name), it) }
        failures = 0
        isReady = true
        val called = (if (isFirst) listeners else newListeners).toList()
        newListeners.clear()
        for (kind in KINDS) called.forEach { notifyApp(Change(kind), it) }
    }

    /** Forgets the events of another user's session. */
    private fun restart() {
        lastEventId = null
        failures = 0
        retryMs = 0
        connection?.cancel()
        wakes++
        endPause()
    }

    /** In ms, randomized so that apps do not all connect at once when the server restarts. */
    private fun nextDelay(): Long {
        val delay = minOf(retryMs * Math.pow(2.0, failures.toDouble()), maxOf(MAX_RETRY_MS, retryMs).toDouble())
        if (retryMs == 0L) retryMs = RETRY_MS
        return (delay * (0.25 + loop.random())).toLong()
    }

    private suspend fun pause(ms: Long?) {
        val over = Pending<Unit>()
        val stopTimer = ms?.let { loop.schedule(it) { over.complete(Result.success(Unit)) } }
        endPause = {
            stopTimer?.invoke()
            over.complete(Result.success(Unit))
        }
        over.await()
    }
}

/** Splits a stream of server-sent events, in pieces of any length, into the fields of each. */
internal class EventParser(private val dispatch: (Map<String, String>) -> Unit) {
    private var rest = ""

    fun add(text: String) {
        val blocks = (rest + text).split("\n\n")
        rest = blocks.last()
        for (block in blocks.dropLast(1)) {
            val fields = block.split('\n').mapNotNull { Regex("^(\\w+): ?(.*)$").find(it)?.destructured }
            dispatch(fields.associate { (field, value) -> field to value })
        }
    }
}

// endregion
// region Purchase queue

/** Submits purchases one at a time until their results are final, also after a restart. */
internal class PurchaseQueue(
    private val slot: Slot, private val baseUrl: String, private val session: SessionKeeper, private val loop: Loop,
    private val submit: suspend (JSONObject) -> PurchaseResult,
) {
    val results = Listeners<QueuedPurchaseResult>()
    private val changing = Mutex()
    /** How often a purchase was not final, and when to submit it again, by the monotonic clock. */
    private val waits = mutableMapOf<String, Pair<Int, Long>>()
    private var isRunning = false
    private var wakes = 0
    private var failures = 0
    private var endPause: () -> Unit = {}

    /** Throws `unauthenticated`. */
    suspend fun add(purchase: JSONObject) {
        val userId = session.read()?.userId ?: throw notSignedIn()
        change(userId) { queued -> if (queued.none { it.toString() == purchase.toString() }) queued.add(purchase) }
        waits.remove(purchase.toString())
        wake()
    }

    /** Submits what is queued for the signed-in user now. */
    fun wake() {
        wakes++
        failures = 0
        endPause()
        if (!isRunning) {
            isRunning = true
            loop.launch { run() }.onDone { isRunning = false }
        }
    }

    private suspend fun run() {
        while (true) {
            val wakesBefore = wakes
            val wait = try {
                step() ?: return
            } catch (error: HomeportError) {
                if (error.code == "unauthenticated") return
                error.retryAfter?.times(1000) ?: retryDelay(failures++)
            }
            if (wait > 0 && wakes == wakesBefore) pause(wait)
        }
    }

    /** Submits the first purchase that is due. Returns how long to wait, in ms; null if nothing is queued. */
    private suspend fun step(): Long? {
        val userId = session.read()?.userId ?: return null
        val queued = read().filter { it.opt("userId") == userId && it.opt("baseUrl") == baseUrl }.flatMap(::purchasesOf)
        val due = { purchase: JSONObject -> (waits[purchase.toString()]?.second ?: 0) - loop.clock.elapsed() }
        val purchase = queued.minByOrNull { maxOf(due(it), 0) } ?: return null
        if (due(purchase) > 0) return due(purchase)
        val result = try {
            submit(purchase)
        } catch (error: HomeportError) {
            val isRefused = error.isGenuine && error.status in 400..499 && error.status !in setOf(401, 408, 429)
            if (!isRefused) throw error
            PurchaseResult(outcome = "refused", code = error.code)
        }
        failures = 0
        if (result.outcome in setOf("checking", "pending")) {
            val count = waits[purchase.toString()]?.first ?: 0
            waits[purchase.toString()] = count + 1 to loop.clock.elapsed() + minOf(60_000L shl minOf(count, 10), 3_600_000L)
            return 0
        }
        change(userId) { purchases -> purchases.removeAll { it.toString() == purchase.toString() } }
        results.notify(QueuedPurchaseResult(purchaseFrom(purchase), result))
        return 0
    }

    private suspend fun change(userId: String, edit: (MutableList<JSONObject>) -> Unit) = changing.run {
        val users = read()
        val own = users.filter { it.opt("userId") == userId && it.opt("baseUrl") == baseUrl }
        val purchases = own.flatMap(::purchasesOf).toMutableList().also(edit)
        val others = users - own.toSet()
        val mine = jsonOf("baseUrl" to baseUrl, "userId" to userId, "purchases" to JSONArray(purchases))
        val kept = if (purchases.isEmpty()) others else others + mine
        if (kept.isEmpty()) slot.clear() else slot.write(kept.last().put("others", JSONArray(kept.dropLast(1))).toString())
    }

    /** The purchases of each user: those who have signed out keep theirs. */
    private suspend fun read(): List<JSONObject> {
        val json = parseObject(slot.read()) ?: return emptyList()
        return list(json.remove("others") as? JSONArray ?: JSONArray()) { it } + json
    }

    private fun purchasesOf(user: JSONObject) = list(user.optJSONArray("purchases") ?: JSONArray()) { it }

    private fun retryDelay(failures: Int): Long =
        (minOf(2_000 * Math.pow(2.0, failures.toDouble()), 60_000.0) * (0.5 + loop.random())).toLong()

    private suspend fun pause(ms: Long) {
        val over = Pending<Unit>()
        val stopTimer = loop.schedule(ms) { over.complete(Result.success(Unit)) }
        endPause = {
            stopTimer()
            over.complete(Result.success(Unit))
        }
        over.await()
    }
}

private fun purchaseFrom(json: JSONObject): SubmittedPurchase = when (json.optString("store")) {
    "app_store" -> AppStorePurchase.from(json)
    "stripe" -> StripePurchase.from(json)
    else -> PlayStorePurchase.from(json)
}

// endregion
// region Storage

/** Keeps texts on this device. The functions may throw, and are called on one thread that may block. */
interface Storage {
    fun getItem(key: String): String?
    fun setItem(key: String, value: String)
    fun removeItem(key: String)
}

/** Keeps items in memory until the app exits. */
class MemoryStorage : Storage {
    private val items = ConcurrentHashMap<String, String>()
    override fun getItem(key: String) = items[key]
    override fun setItem(key: String, value: String) { items[key] = value }
    override fun removeItem(key: String) { items.remove(key) }
}

/** Keeps each item in a file of [folder], which is replaced at once. */
class FileStorage(private val folder: File) : Storage {
    override fun getItem(key: String): String? = File(folder, key).let { if (it.exists()) it.readText() else null }

    override fun setItem(key: String, value: String) {
        folder.mkdirs()
        val draft = File(folder, "$key.new")
        draft.outputStream().use {
            it.write(value.toByteArray())
            it.fd.sync()
        }
        Files.move(draft.toPath(), File(folder, key).toPath(), StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING)
    }

    override fun removeItem(key: String) { Files.deleteIfExists(File(folder, key).toPath()) }
}

/**
 * Encrypts each item with AES-GCM. On Android: `EncryptedStorage(FileStorage(context.noBackupFilesDir)) {
 * androidKey { KeyGenParameterSpec.Builder(it, PURPOSE_ENCRYPT or PURPOSE_DECRYPT).setBlockModes(BLOCK_MODE_GCM)
 * .setEncryptionPaddings(ENCRYPTION_PADDING_NONE).build() } }`. What cannot be decrypted counts as absent.
 */
class EncryptedStorage(private val storage: Storage, loadKey: () -> SecretKey) : Storage {
    private val key by lazy(loadKey)

    override fun getItem(key: String): String? {
        val bytes = storage.getItem(key)?.let { attempt { fromBase64url(it) } } ?: return null
        if (bytes.size < 13) return null
        return try {
            String(cipher(Cipher.DECRYPT_MODE, GCMParameterSpec(128, bytes, 0, 12)).doFinal(bytes, 12, bytes.size - 12))
        } catch (_: AEADBadTagException) {
            // Another device's, or of a key that the phone has lost.
            null
        }
    }

    override fun setItem(key: String, value: String) {
        val cipher = cipher(Cipher.ENCRYPT_MODE, null)
        storage.setItem(key, base64url(cipher.iv + cipher.doFinal(value.toByteArray())))
    }

    override fun removeItem(key: String) = storage.removeItem(key)

    private fun cipher(mode: Int, parameters: AlgorithmParameterSpec?) =
        Cipher.getInstance("AES/GCM/NoPadding").apply { init(mode, key, parameters) }
}

/** The key of this app in Android's Keystore; [describe] gets its alias and describes a new one. */
fun androidKey(alias: String = "homeport", describe: (String) -> AlgorithmParameterSpec): SecretKey {
    val keys = KeyStore.getInstance("AndroidKeyStore").apply { load(null) }
    return keys.getKey(alias, null) as SecretKey? ?: KeyGenerator.getInstance("AES", "AndroidKeyStore").run {
        init(describe(alias))
        generateKey()
    }
}

/** Reads and writes one key of a storage. Throws `storage_failed` if the storage fails. */
internal class Slot(private val storage: Storage, private val key: String, private val loop: Loop, private val disk: Executor) {
    suspend fun read(): String? = attempt { storage.getItem(key) }
    suspend fun write(value: String) = attempt { storage.setItem(key, value) }
    suspend fun clear() = attempt { storage.removeItem(key) }

    private suspend fun <T> attempt(work: () -> T): T = try {
        loop.blocking(disk, work)
    } catch (cause: Exception) {
        throw HomeportError(0, "storage_failed", "The storage of this device cannot be used.", cause = cause)
    }
}

// endregion

// region Helpers

private const val PROFILE = "/api/user/profile/v1"
private const val ATTACHMENTS = "/api/user/attachments/v1"
private const val PASSKEYS = "/api/auth/passkey/v1"
private const val PASSWORD = "/api/auth/password/v1"
private const val TWO_FACTOR = "/api/auth/two_factor/v1"
private const val SESSIONS = "/api/auth/sessions/v1"
private const val LOGOUT = "/api/auth/logout/v1"
private const val DATA = "/api/user/data/v1"
private const val SUBSCRIPTION = "/api/user/subscription/v1"
private const val PURCHASES = "/api/user/purchases/v1"
private const val CHANGES = "/api/user/changes/v1"
private const val CONTENT_VERSION = "/api/user/content_version/v1"
private const val JOSE = "application/jose"
private val DELETED = DeletedAccount("The account is deleted.", emptyList())
private val KEPT_NAMES = mapOf(
    SUBSCRIPTION to "subscription", PROFILE to "profile", "/api/user/app_settings/v1" to "settings",
    "/api/user/pricing_plans/v1" to "plans", "/api/user/currency_rates/v1" to "rates", "/api/user/faqs/v1" to "faqs",
)
private val PUBLIC = setOf("plans", "rates", "faqs")
private val KINDS = listOf("subscription", "profile", "data", "settings")
private const val EXPIRY_MARGIN_MS = 30_000L
private const val MAX_REFRESH_WAIT_MS = 3_000L
private const val MAX_RETRY_AFTER_SECONDS = 5L
private const val MAX_TIMER_MS = Int.MAX_VALUE.toLong()
private const val FRESHNESS_MS = 300_000L
private const val RESEND_WINDOW_MS = 60_000L
private const val MAX_CLOCK_ROUND_TRIP_MS = 10_000L
private const val KEYS_LIFETIME_MS = 3_600_000L
private const val SEEN_MS = 60_000L
private const val MAX_SILENCE_MS = 60_000L
private const val RETRY_MS = 3_000L
private const val MAX_RETRY_MS = 60_000L

private inline fun <T> attempt(work: () -> T): T? = try { work() } catch (_: Exception) { null }
private fun jsonOf(vararg members: Pair<String, Any?>) = JSONObject().apply { members.forEach { (name, value) -> put(name, value) } }
private fun JSONObject.textOrNull(name: String): String? = opt(name) as? String
private fun parseObject(text: String?): JSONObject? = runCatching { JSONTokener(text).nextValue() as? JSONObject }.getOrNull()
private fun <T> list(array: Any, from: (JSONObject) -> T): List<T> = (array as JSONArray).let { List(it.length()) { at -> from(it.getJSONObject(at)) } }
private fun <T> decode(from: () -> T): T = try { from() } catch (cause: Exception) {
    throw HomeportError(200, "reply_invalid", "The server's response cannot be read.", cause = cause)
}
private fun randomBytes(size: Int) = ByteArray(size).also(SecureRandom()::nextBytes)
private fun randomId() = base64url(randomBytes(16))
private fun randomHex() = randomBytes(16).joinToString("") { "%02x".format(it) }
private fun sha256(bytes: ByteArray): ByteArray = MessageDigest.getInstance("SHA-256").digest(bytes)
internal fun base64url(bytes: ByteArray): String = Base64.getUrlEncoder().withoutPadding().encodeToString(bytes)
internal fun fromBase64url(text: String): ByteArray = Base64.getUrlDecoder().decode(text)
private fun trimAddress(email: String) = email.replace(Regex("^[\\s\\p{Z}\\p{Cf}]+|[\\s\\p{Z}\\p{Cf}]+$"), "")
private fun deviceModel(): String? = attempt { Class.forName("android.os.Build").getField("MODEL").get(null) as String }
private fun encodeComponent(text: String) = text.toByteArray().joinToString("") { byte ->
    val char = byte.toInt().toChar()
    if (char in 'a'..'z' || char in 'A'..'Z' || char in '0'..'9' || char in "-_.!~*'()") "$char" else "%%%02X".format(byte)
}
/** Encodes like URL libraries, because a sealed request contains the query that the server will see. */
private fun encodeParameter(text: String) = encodeComponent(text).replace("'", "%27")
private fun parseHttpDate(text: String?): Long? = attempt {
    ZonedDateTime.parse(text, DateTimeFormatter.RFC_1123_DATE_TIME).toInstant().toEpochMilli()
}

// endregion
