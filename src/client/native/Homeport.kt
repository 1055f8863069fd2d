/**
 * Homeport for Kotlin: the client of an app, with HomeportModels.kt beside it. It needs Kotlin 1.9, Android 8 (API 26)
 * or Java 11, org.json (part of Android), and nothing else.
 */
package homeport

import java.io.*
import java.math.BigInteger
import java.net.*
import java.nio.file.Files
import java.nio.file.StandardCopyOption.*
import java.security.*
import java.security.interfaces.ECPublicKey
import java.security.spec.*
import java.time.*
import java.time.format.DateTimeFormatter.RFC_1123_DATE_TIME
import java.util.*
import java.util.concurrent.*
import java.util.function.Supplier
import javax.crypto.*
import javax.crypto.spec.*
import kotlin.coroutines.*
import kotlin.math.*
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds
import org.json.*

// ---- Public API ----

/**
 * The error that every function throws. [status]: of the response; 0 if there was none. [code]: newer servers may
 * return codes that this client does not know. [requestId]: identifies the request in the server's log. [retryAfter]:
 * seconds to wait, if the server said so. [isGenuine]: the server itself sent it; an intermediary may answer too.
 */
class HomeportError(
    val status: Int, val code: String, override val message: String, val details: List<Detail> = emptyList(),
    val requestId: String? = null, val retryAfter: Long? = null, internal val isGenuine: Boolean = false,
    cause: Throwable? = null,
) : Exception(message, cause) {
    /** An invalid field: its path in the request, and the rule that it breaks. */
    data class Detail(val path: String, val message: String)
}

/** Cancels the calls of a client from [Homeport.with]: they fail immediately with `aborted`. */
class Cancellation {
    private val listeners = CopyOnWriteArraySet<() -> Unit>()
    @Volatile var isCancelled = false
        private set
    fun cancel() {
        isCancelled = true
        listeners.forEach { it() }
    }
    internal fun listen(listener: () -> Unit): () -> Unit {
        listeners.add(listener)
        if (isCancelled) listener()
        return { listeners.remove(listener) }
    }
}

/** The installed app. [deviceId]: any text that stays the same on this device. */
class InstalledApp(
    val version: String, val buildNumber: Long? = null, val deviceId: String? = null, val platform: String = "android",
)
/** Why the session changed. [SESSION_ENDED]: the server has ended it. */
enum class AuthChangeReason { SIGNED_IN, REFRESHED, SIGNED_OUT, ACCOUNT_DELETED, SESSION_ENDED }
/** A change to the session. [userId]: the user who is signed in now. */
data class AuthChange(val reason: AuthChangeReason, val isSignedIn: Boolean, val userId: String?)
/** What has changed: `subscription`, `profile`, `data` or `settings`; newer servers may send other kinds. */
data class Change(val kind: String)
/** A session, or a challenge if two-factor is on: pass it and a code to [Homeport.passTwoFactor]. */
sealed interface SignInResult {
    data class SignedIn(val session: Session) : SignInResult {
        override fun toString() = "SignedIn(${session.user.id})"
    }
    data class TwoFactor(val challenge: TwoFactorChallenge) : SignInResult {
        override fun toString() = "TwoFactor"
    }
}
/** The response to the deletion of an account. [activeSubscriptions] continue at their stores. */
data class DeletedAccount(val message: String, val activeSubscriptions: List<ActiveSubscription> = emptyList())
/** A file to upload, of [size] bytes. [open] is called for each attempt. */
class UploadFile(val name: String, val type: String?, val size: Long, val open: () -> InputStream) {
    constructor(file: File, type: String? = null, name: String = file.name) :
        this(name, type, file.length(), { file.inputStream() })
}
/** How much of an upload has been sent, in bytes. */
data class Progress(val sent: Long, val total: Long)
/** A page of files, newest first. [next]: pass it as `after` to get the next page; null on the last page. */
data class AttachmentPage(val attachments: List<ListedAttachment>, val next: String?)
/** The final result of a queued purchase: its outcome is `bound`, `known` or `refused`. */
data class QueuedPurchaseResult(val purchase: SubmittedPurchase, val result: PurchaseResult)
/** A response, or the kept copy of the last one. [isStale]: the server has not confirmed it yet. */
class Kept<T> internal constructor(
    val data: T, val isStale: Boolean, val asOf: Instant, private val refresh: (suspend () -> Kept<T>)? = null,
) {
    /** Waits for the server's response. Throws like the function that reads the value. */
    suspend fun refreshed(): Kept<T> = refresh?.invoke() ?: this
}
/** The values that the device keeps, for [Homeport.readKept]. */
class KeptValue<T> private constructor(
    internal val name: String, internal val path: String, internal val from: (Any) -> T,
) {
    companion object {
        val subscription = KeptValue("subscription", SUBSCRIPTION) { Subscription.from(it as JSONObject) }
        val profile = KeptValue("profile", PROFILE) { UserProfile.from(it as JSONObject) }
        val settings = KeptValue("settings", "/api/user/app_settings/v1") { AppSettings.from(it as JSONObject) }
        val plans = KeptValue("plans", PLANS) { objects(it).map { plan -> PricingPlan.from(plan) } }
        val rates = KeptValue("rates", "/api/user/currency_rates/v1") { CurrencyRates.from(it as JSONObject) }
        val faqs = KeptValue("faqs", "/api/user/faqs/v1") { objects(it).map { faq -> Faq.from(faq) } }
        internal val all by lazy { listOf(subscription, profile, settings, plans, rates, faqs) }
    }
}

/**
 * Homeport for an app: a function per endpoint. Create one for the whole app; it continues the session in `storage`.
 * Every function may throw a [HomeportError] with the code `network_error`, `timeout`, `aborted`, `reply_invalid`,
 * `storage_failed` or `rate_limited`; those for signed-in users also `unauthenticated`: [isSignedIn] then says whether
 * the session has ended. Functions that return a String return a message from the server.
 */
class Homeport private constructor(
    private val core: Core, private val cancellation: Cancellation?, private val timeout: Duration,
) {
    /**
     * @param storage Where to keep the session: [EncryptedStorage] on Android.
     * @param offlineStorage Where to keep the last responses, and purchases that have not been submitted yet.
     * @param device A name by which users recognize this device.
     * @param language Languages as in `Accept-Language`; the device's by default.
     * @param env `test` (the default) sends plain JSON; any other value, such as `production`, seals payloads.
     * @param pinnedKeys Thumbprints of the server keys to trust, as `homeport keys list` prints them with use `enc`.
     * @param signingKeys The same with use `sig`: kept access must be signed with one of them.
     * @param listenerExecutor Where listeners are called: on Android `{ Handler(Looper.getMainLooper()).post(it) }`.
     * @param onSignedOut Called when the server has ended the session.
     */
    constructor(
        baseUrl: String, storage: Storage = MemoryStorage(), offlineStorage: Storage = storage,
        app: InstalledApp? = null, device: String? = deviceModel(), language: String? = null, env: String? = null,
        pinnedKeys: List<String>? = null, signingKeys: List<String>? = null, timeout: Duration = 30.seconds,
        listenerExecutor: Executor = daemonThread("listeners"), onSignedOut: (() -> Unit)? = null,
        platform: Platform = Platform(),
    ) : this(
        Core(
            baseUrl, storage, offlineStorage, { commonHeaders(app, device, language) }, env, pinnedKeys, signingKeys,
            timeout, listenerExecutor, platform,
        ),
        null, timeout,
    ) {
        if (onSignedOut != null) onAuthChange { if (it.reason == AuthChangeReason.SESSION_ENDED) onSignedOut() }
        core.purchases.start()
    }

    /** The same client with other call options. [timeout]: in an upload, the longest time without progress per file. */
    fun with(cancellation: Cancellation? = null, timeout: Duration = this.timeout): Homeport =
        Homeport(core, cancellation, timeout)

    /** Returns whether a session is stored on this device; the server may already have ended it. */
    suspend fun isSignedIn(): Boolean = core.loop.enter { core.session.read() != null }
    /** Returns an access token for the app's other services, refreshed if necessary. Throws `unauthenticated`. */
    suspend fun accessToken(): String = run { core.session.readFresh().accessToken }
    /** Fetches new tokens; the client does this automatically when necessary. Throws `unauthenticated`. */
    suspend fun refresh() { run { core.session.renew(core.session.read()) } }
    /** Calls [listener] whenever the session changes. Returns a function that stops it. */
    fun onAuthChange(listener: (AuthChange) -> Unit): () -> Unit = core.authChanges.add { core.notifyApp(it, listener) }

    private suspend fun <T> run(work: suspend (Deadline) -> T): T = core.run(cancellation, timeout, work)
    /** Sends a request with the user's token. */
    private suspend fun user(method: String, path: String, json: JSONObject? = null, query: Query = emptyMap()) =
        run { core.callAsUser(method, path, Content(it, json?.let(Body::json), query)) }
    /** Sends a request without a token. */
    private suspend fun send(method: String, path: String, json: JSONObject? = null, query: Query = emptyMap()) =
        run { core.call(method, path, null, Content(it, json?.let(Body::json), query)) }

    // ---- Sign-in ----

    /** Signs up; a guest keeps their id. Throws `email_taken`, `validation_failed`, `session_ended`, `token_lost`. */
    suspend fun register(email: String, password: String, name: String? = null, invitation: String? = null): Session {
        val account = NewAccount(trimmed(email), password, name, invitation).toJson()
        return signIn("/api/auth/register/v1", account, keepsGuestId = true).session()
    }
    /** Signs in; a guest's data moves to the account. Throws `invalid_credentials`, `session_ended`. */
    suspend fun login(email: String, password: String): SignInResult =
        signIn("/api/auth/login/v1", Credentials(trimmed(email), password).toJson(), Sender.GUEST)
    /** Completes a two-factor sign-in with an authenticator or recovery code. Throws `invalid_credentials`. */
    suspend fun passTwoFactor(challengeToken: String, code: String): Session =
        signIn("/api/auth/login/v1/two_factor", jsonOf("challengeToken" to challengeToken, "code" to code), Sender.NONE)
            .session()
    /** Sends a six-digit code by e-mail. Keep `requestToken` until the user has entered the code. */
    suspend fun requestEmailCode(email: String): EmailCodeRequest =
        send("post", EMAIL_CODE, jsonOf("email" to trimmed(email))).one { EmailCodeRequest.from(it) }
    /** Signs in or up with the code; a guest keeps their data. Throws `invalid_credentials`, `session_ended`. */
    suspend fun signInWithEmailCode(requestToken: String, code: String, name: String? = null): SignInResult =
        signIn("$EMAIL_CODE/verify", EmailCodeAnswer(requestToken, code, name).toJson())
    /** Signs in with an identity provider; a guest keeps their data. Throws `unauthenticated`, `session_ended`. */
    suspend fun signInSocially(login: SocialLogin): SignInResult = signIn("/api/auth/social/v1", login.toJson())
    /** Returns the options for signing in with any passkey of the app, as JSON for Credential Manager. */
    suspend fun startPasskeySignIn(): String = send("post", "$PASSKEYS/sign_in/options").one { it.toString() }
    /** Signs in with the passkey's `authenticationResponseJson`. Throws `invalid_credentials`, `session_ended`. */
    suspend fun signInWithPasskey(credential: String): Session =
        signIn("$PASSKEYS/sign_in", jsonOf("credential" to JSONObject(credential)), Sender.GUEST).session()
    /** Signs in without credentials, or returns the current guest. Throws `conflict` if a user is signed in. */
    suspend fun startAsGuest(): Session = run { core.startingGuest.join { core.run(null, core.timeout, ::startGuest) } }
    /** Ends the session on the server if it can be reached, and always on this device. */
    suspend fun logout(): String = core.loop.enter {
        val before = attempt { core.session.read() }
        // A storage that fails must not keep the server from ending the session.
        val forgotten = runCatching { core.session.forget(AuthChangeReason.SIGNED_OUT) }
        val message = before?.let { endOnServer(it) }
        forgotten.getOrThrow()
        message ?: "Signed out on this device."
    }

    /** Whose token a sign-in sends, so that the guest's data moves to the account. */
    private enum class Sender { NONE, GUEST, ANYONE }

    /** [keepsGuestId]: another id means that an intermediary removed the guest's token. */
    private suspend fun signIn(
        path: String, json: JSONObject, sender: Sender = Sender.ANYONE, keepsGuestId: Boolean = false,
    ): SignInResult = run { deadline ->
        val (token, user) = findSender(sender, deadline) ?: (null to null)
        val guest = user?.takeIf { keepsGuestId && it.opt("loginType") == "guest" }
        val content = Content(deadline, Body.json(json))
        core.session.trackSignIn { keepSession(core.call("post", path, token, content), guest) }
    }

    /**
     * Returns the token to send, and its user; null if none should be sent. Tests the token: if an intermediary
     * removed it, the server would create a new account.
     */
    private suspend fun findSender(sender: Sender, deadline: Deadline): Pair<String, JSONObject>? {
        val stored = if (sender == Sender.NONE) null else core.session.read()
        if (stored == null || (sender == Sender.GUEST && stored.isGuest == false)) return null
        try {
            return core.withToken { token -> token to core.call("get", PROFILE, token, Content(deadline)).one { it } }
        } catch (error: HomeportError) {
            throw if (error.isSessionEnded && core.session.read() == null) sessionEnded(error) else error
        }
    }

    /** Keeps a guest whose session has not ended, and never replaces a signed-in user. */
    private suspend fun startGuest(deadline: Deadline): Session {
        val create: suspend () -> Session = {
            keepSession(core.call("post", "/api/auth/guest/v1", null, Content(deadline)), isFirst = true).session()
        }
        val stored = core.session.read() ?: return create()
        val user = try { core.callAsUser("get", PROFILE, Content(deadline)) } catch (error: HomeportError) {
            if (stored.isGuest != true || !error.isSessionEnded || core.session.read() != null) throw error
            return create()
        }.one { UserProfile.from(it) }
        if (user.loginType != "guest") throw alreadySignedIn()
        val fresh = core.session.readFresh()
        val expiresIn = Math.floorDiv(fresh.expiresAt - core.loop.clock.now(), 1000L)
        return Session(fresh.accessToken, fresh.refreshToken, "Bearer", expiresIn, user)
    }

    /** [guest]: the user that the session must belong to. */
    private suspend fun keepSession(
        reply: Envelope, guest: JSONObject? = null, isFirst: Boolean = false,
    ): SignInResult {
        val json = readSession(reply)
        if (!json.has("refreshToken")) return SignInResult.TwoFactor(reply.one { TwoFactorChallenge.from(it) })
        if (guest != null && guest.opt("_id") != json.getJSONObject("user").opt("_id")) throw tokenLost()
        core.session.keep(json, isFirst)
        return SignInResult.SignedIn(reply.one { Session.from(it) })
    }

    private fun SignInResult.session() = (this as? SignInResult.SignedIn)?.session ?: throw noSession()

    /** Ends a session that this device has already deleted. Returns null if the outcome is unknown. */
    private suspend fun endOnServer(stored: StoredSession): String? = try {
        run { deadline ->
            val end: suspend (String) -> Envelope = { core.call("post", "/api/auth/logout/v1", it, Content(deadline)) }
            try { end(stored.accessToken) } catch (error: HomeportError) {
                if (!error.isTokenRefused) throw error
                end(core.exchangeRefreshToken(stored.refreshToken).getString("accessToken"))
            }
        }.message
    } catch (error: HomeportError) {
        if (error.code == "aborted") throw error else null
    }

    // ---- Account ----

    /** Returns the signed-in user. */
    suspend fun readProfile(): UserProfile = read(KeptValue.profile)
    /** Changes the fields in [changes] and returns the whole profile. Throws `validation_failed`. */
    suspend fun changeProfile(changes: ProfileChanges): UserProfile =
        user("patch", PROFILE, changes.toJson()).one { UserProfile.from(it) }
    /** Permanently deletes the account. Call it again if the response was lost. */
    suspend fun deleteProfile(): DeletedAccount = core.loop.enter {
        val before = core.session.read()
        val earlier = core.session.deletion
        if (before == null && earlier == DELETION_CONFIRMED) return@enter DeletedAccount("The account has been deleted.")
        try {
            val reply = run { deadline -> core.withToken { token -> sendDeletion(token, earlier, deadline) } }
            if (core.session.read()?.userId == before?.userId) core.session.forget(AuthChangeReason.ACCOUNT_DELETED)
            val active = objects(reply.json.opt("activeSubscriptions") ?: JSONArray())
            DeletedAccount(reply.message, decode { active.map { ActiveSubscription.from(it) } })
        } catch (error: HomeportError) {
            // The account was deleted if the last response was lost, unless the session was refreshed in between.
            if (before == null || before.accessToken != earlier || !error.isSessionEnded) throw error
            DeletedAccount("The account has been deleted.")
        }
    }
    private suspend fun sendDeletion(token: String, earlier: String?, deadline: Deadline): Envelope = try {
        core.session.deletion = token
        core.call("delete", PROFILE, token, Content(deadline))
    } catch (error: HomeportError) {
        // A proxy answers 502 or 504 without knowing whether the server handled the request.
        if (error.status !in setOf(0, 502, 504)) core.session.deletion = earlier
        throw error
    }
    /** Returns all data that the server stores about the user. */
    suspend fun exportData(): JSONObject = user("get", "/api/user/export/v1").one { it }
    /** Returns the signed-in devices, most recently used first. */
    suspend fun listSessions(): List<Device> = user("get", SESSIONS).many { Device.from(it) }
    /** Signs a device out: [id] is its session id, or `others` for all other devices. Throws `not_found`. */
    suspend fun endSession(id: String): String = user("delete", SESSIONS, query = mapOf("id" to id)).message
    /** Changes the password, and signs out other devices. Throws `invalid_credentials`, `two_factor_required`. */
    suspend fun changePassword(currentPassword: String, newPassword: String, code: String? = null): String = user(
        "patch", PASSWORD, jsonOf("currentPassword" to currentPassword, "newPassword" to newPassword, "code" to code),
    ).message
    /** Sends an e-mail with a reset link if the account exists. */
    suspend fun forgotPassword(email: String): String =
        send("post", "$PASSWORD/forgot", jsonOf("email" to trimmed(email))).message
    /** Sets a password with the token of the reset link. Throws `unauthenticated` for a used or expired link. */
    suspend fun resetPassword(token: String, newPassword: String): String =
        send("post", "$PASSWORD/reset", jsonOf("token" to token, "newPassword" to newPassword)).message
    /** Verifies an address with the token of its link. Throws `unauthenticated` for a used or expired link. */
    suspend fun verifyEmail(token: String): String = send("post", "$EMAIL/verify", jsonOf("token" to token)).message
    /** Sends the verification e-mail again. Throws `conflict` if there is nothing to verify. */
    suspend fun resendVerification(): String = user("post", "$EMAIL/resend").message
    /**
     * Sends an e-mail to the new address; nothing changes until its link is opened. Throws `email_taken`,
     * `invalid_credentials`, `recent_sign_in_required` without a password, `two_factor_required` without a code.
     */
    suspend fun changeEmail(email: String, password: String? = null, code: String? = null): String =
        user("post", "$EMAIL/change", jsonOf("email" to trimmed(email), "password" to password, "code" to code)).message
    /** Cancels a change of address with the token sent to the old address. */
    suspend fun cancelEmailChange(token: String): String =
        send("post", "$EMAIL/cancel", jsonOf("token" to token)).message
    /** Unlinks `google`, `apple` or `oidc`. Throws `conflict` for the only way to sign in, `two_factor_required`. */
    suspend fun unlinkProvider(provider: String, code: String? = null): String =
        user("delete", "/api/auth/social/v1", query = mapOf("provider" to provider, "code" to code)).message
    /** Creates a secret for an authenticator. Throws `invalid_credentials`, `recent_sign_in_required`, `conflict`. */
    suspend fun setUpTwoFactor(password: String? = null): TwoFactorSetup =
        user("post", TWO_FACTOR, jsonOf("password" to password)).one { TwoFactorSetup.from(it) }
    /** Turns two-factor on with a first code. Throws `invalid_credentials`. */
    suspend fun confirmTwoFactor(code: String): RecoveryCodes =
        user("post", "$TWO_FACTOR/confirm", jsonOf("code" to code)).one { RecoveryCodes.from(it) }
    /** Replaces the recovery codes. Throws `invalid_credentials`, `conflict` if two-factor is off. */
    suspend fun renewRecoveryCodes(code: String, password: String? = null): RecoveryCodes =
        user("post", "$TWO_FACTOR/recovery_codes", jsonOf("password" to password, "code" to code))
            .one { RecoveryCodes.from(it) }
    /** Turns two-factor off. Throws `invalid_credentials`. */
    suspend fun disableTwoFactor(code: String, password: String? = null): String =
        user("delete", TWO_FACTOR, jsonOf("password" to password, "code" to code)).message
    /** Returns the user's passkeys, oldest first. */
    suspend fun listPasskeys(): List<Passkey> = user("get", PASSKEYS).many { Passkey.from(it) }
    /** Returns the options for creating a passkey, as JSON. Throws `recent_sign_in_required`, `two_factor_required`. */
    suspend fun startPasskeyRegistration(password: String? = null, code: String? = null): String =
        user("post", "$PASSKEYS/options", jsonOf("password" to password, "code" to code)).one { it.toString() }
    /** Adds a passkey by its `registrationResponseJson`. Throws `invalid_credentials`, `conflict`. */
    suspend fun addPasskey(credential: String, name: String? = null): Passkey =
        user("post", PASSKEYS, jsonOf("credential" to JSONObject(credential), "name" to name)).one { Passkey.from(it) }
    /** Renames a passkey. Throws `not_found`. */
    suspend fun renamePasskey(id: String, name: String): Passkey =
        user("patch", PASSKEYS, jsonOf("id" to id, "name" to name)).one { Passkey.from(it) }
    /** Removes a passkey, and signs out other devices. Throws `not_found`, `conflict`, `two_factor_required`. */
    suspend fun removePasskey(id: String, code: String? = null): String =
        user("delete", PASSKEYS, query = mapOf("id" to id, "code" to code)).message

    // ---- Content ----

    /** Returns the app's settings; see [isUpdateRequired]. */
    suspend fun readAppSettings(): AppSettings = read(KeptValue.settings)
    /** Returns the pricing plans on sale. */
    suspend fun readPricingPlans(lang: String? = null): List<PricingPlan> = read(KeptValue.plans, lang)
    /** Returns the exchange rates; see [findRate]. */
    suspend fun readCurrencyRates(): CurrencyRates = read(KeptValue.rates)
    /** Returns the version counter of each kind of content. */
    suspend fun readContentVersions() = send("get", CONTENT_VERSION).one { ContentVersions.from(it) }
    /** Returns the frequently asked questions. */
    suspend fun readFaqs(lang: String? = null): List<Faq> = read(KeptValue.faqs, lang)
    /**
     * Returns the kept response immediately if there is one, and refreshes it; otherwise waits for the server. A kept
     * subscription gives access until it ends, even if the device's clock is set back. Throws like the function that
     * reads the value.
     */
    suspend fun <T> readKept(value: KeptValue<T>, lang: String? = null): Kept<T> =
        core.loop.enter { core.kept.readKept(value, lang) { read(value, lang) } }
    /**
     * Calls [listener] with each kind once at the start, and whenever something of that kind may have changed: read it
     * again. Keeps a connection open while a user is signed in. Returns a function that stops it.
     */
    fun onChange(listener: (Change) -> Unit): () -> Unit {
        val registered: (String) -> Unit = { core.notifyApp(Change(it), listener) }
        core.loop.post { core.changes.add(registered) }
        return { core.loop.post { core.changes.remove(registered) } }
    }
    private suspend fun <T> read(value: KeptValue<T>, lang: String? = null): T = run { deadline ->
        val content = Content(deadline, query = mapOf("lang" to lang))
        val reply = when (value.name) {
            "subscription", "profile" -> core.callAsUser("get", value.path, content)
            // A check for a required update must not wait for a refresh that fails.
            "settings" -> core.call("get", value.path, attempt {
                core.run(null, 3.seconds) { core.session.readFresh() }.accessToken
            }, content)
            else -> core.call("get", value.path, null, content)
        }
        decode { value.from(reply.data) }
    }

    // ---- Attachments ----

    /**
     * Uploads 1 to 10 files of up to 25 MiB each. [type]: `publicAsset` or `supportTicket`. [targetType]: `jpg`,
     * `jpeg`, `png` or `webp`. Retrying with the same [idempotencyKey] stores nothing twice. Throws `file_unreadable`,
     * `unsupported_media_type`, `payload_too_large`, `quota_exceeded`, `image_unreadable`, `image_too_large`.
     */
    suspend fun uploadAttachments(
        type: String, files: List<UploadFile>, targetType: String? = null, compression: Boolean? = null,
        idempotencyKey: String = randomHex(), onProgress: (Progress) -> Unit = {},
        // The server processes the files after the last one has arrived.
    ): List<Attachment> = core.run(cancellation, timeout * max(files.size, 1)) { deadline ->
        val query = mapOf("type" to type, "compression" to compression, "targetType" to targetType)
        val sender = core.session.read()?.userId
        val body = core.loop.blocking { Body.form(files) }
        // Opening the files may have taken long enough for another user to sign in.
        if (core.session.read()?.userId != sender) throw userChanged()
        deadline.onProgress = { core.notifyApp(it, onProgress) }
        core.callAsUser("post", ATTACHMENTS, Content(deadline, body, query, mapOf("idempotency-key" to idempotencyKey)))
            .many { Attachment.from(it) }
    }
    /** Returns a page of the user's files, newest first. */
    suspend fun listAttachments(limit: Int? = null, after: String? = null): AttachmentPage =
        user("get", ATTACHMENTS, query = mapOf("limit" to limit, "after" to after)).let { reply ->
            AttachmentPage(reply.many { ListedAttachment.from(it) }, reply.json.textOrNull("next"))
        }
    /** Returns a file with a fresh URL. Throws `not_found`. */
    suspend fun readAttachment(key: String): AttachmentDetails =
        user("get", "$ATTACHMENTS/download", query = mapOf("key" to key)).one { AttachmentDetails.from(it) }
    /** Deletes a file. Throws `not_found`. */
    suspend fun deleteAttachment(key: String): String = user("delete", ATTACHMENTS, query = mapOf("key" to key)).message

    // ---- Data ----

    /** Returns the documents of the app and its servers. */
    suspend fun readData(): UserData = user("get", DATA).one { UserData.from(it) }
    /**
     * Stores the document; with [version], only if that is still the stored version. Throws `precondition_failed`,
     * `payload_too_large`.
     */
    suspend fun replaceData(data: JSONObject, version: String? = null): UserData =
        user("put", DATA, data, mapOf("version" to version)).one { UserData.from(it) }
    /** Changes members of the document: `JSONObject.NULL` removes one (RFC 7396). Throws as [replaceData] does. */
    suspend fun patchData(data: JSONObject, version: String? = null): UserData =
        user("patch", DATA, data, mapOf("version" to version)).one { UserData.from(it) }

    // ---- Billing ----

    /** Returns the user's purchases and entitlements. For access, check [Subscription.entitlements]. */
    suspend fun readSubscription(
        environment: String? = null, lang: String? = null, proof: Boolean? = null,
    ): Subscription =
        user("get", SUBSCRIPTION, query = mapOf("environment" to environment, "proof" to proof, "lang" to lang))
            .one { Subscription.from(it) }
    /** Returns every limit of the user's plan, and how much of it is used in the current period. */
    suspend fun readUsage(): List<LimitUsage> = user("get", "/api/user/usage/v1").many { LimitUsage.from(it) }
    /** Submits purchases immediately. [takeOver] also moves another user's purchases: ask the user first. */
    suspend fun submitPurchases(
        purchases: List<SubmittedPurchase>, takeOver: Boolean? = null, environment: String? = null,
    ): SubmittedPurchases {
        val list = JSONArray(purchases.map { it.toJson() })
        val json = jsonOf("purchases" to list, "takeOver" to takeOver, "environment" to environment)
        return user("post", PURCHASES, json).one { SubmittedPurchases.from(it) }
    }
    /**
     * Stores a purchase on this device before it returns, and submits it for the signed-in user until its result is
     * final, also after a restart: see [onPurchaseResult]. Throws `unauthenticated`, `storage_failed`.
     */
    suspend fun queuePurchase(purchase: SubmittedPurchase) = core.loop.enter { core.purchases.add(purchase.toJson()) }
    /** Calls [listener] with the final result of each queued purchase. Returns a function that stops it. */
    fun onPurchaseResult(listener: (QueuedPurchaseResult) -> Unit): () -> Unit =
        core.purchases.listen { core.notifyApp(it, listener) }
    /** Starts the purchase of a plan by card: open the returned page in a browser. */
    suspend fun startCheckout(request: CheckoutRequest): Checkout =
        user("post", "/api/user/checkout/v1", request.toJson()).one { Checkout.from(it) }
    /** Returns the URL of the page on which the user changes or cancels a subscription bought by card. */
    suspend fun createPortalLink(request: PortalRequest): String =
        user("post", "/api/user/billing_portal/v1", request.toJson()).one { it.getString("url") }
}

/** The units of a currency, in upper or lower case, for one unit of the base; null without a rate. */
fun findRate(rates: CurrencyRates, currency: String): Double? = rates.rates[currency.uppercase(Locale.ROOT)]
/** Whether the app must be updated: its version or build is older than the supported one. */
fun isUpdateRequired(settings: AppSettings, app: InstalledApp): Boolean =
    settings.versionsFor(app)?.let { isOlder(app, it.supportedVersion, it.supportedBuildNumber) } ?: false
/** Whether the store has an update: the app's version or build is older than the latest one. */
fun isUpdateAvailable(settings: AppSettings, app: InstalledApp): Boolean =
    settings.versionsFor(app)?.let { isOlder(app, it.latestVersion, it.latestBuildNumber) } ?: false

private fun AppSettings.versionsFor(app: InstalledApp) = mapOf("ios" to ios, "android" to android)[app.platform]
/** A version that cannot be parsed must not lock users out. */
private fun isOlder(app: InstalledApp, limit: String, build: Long): Boolean {
    val (installed, wanted) = listOf(app.version, limit).map { version ->
        val plain = Regex("^\\s*[vV]?(\\d+(?:\\.\\d+)*)").find(version)?.groupValues?.get(1) ?: return false
        plain.split('.').map(::BigInteger)
    }
    fun part(version: List<BigInteger>, at: Int) = version.getOrElse(at) { BigInteger.ZERO }
    val differing = (0 until max(installed.size, wanted.size)).find { part(installed, it) != part(wanted, it) }
    if (differing != null) return part(installed, differing) < part(wanted, differing)
    return app.buildNumber != null && app.buildNumber < build
}

// ---- Session keeper ----

/** Sessions kept by earlier versions lack [userId] and [isGuest]. */
internal class StoredSession(json: JSONObject) {
    val accessToken = json.optString("accessToken")
    val refreshToken = json.optString("refreshToken")
    val expiresAt = json.optLong("expiresAt")
    val userId = json.textOrNull("userId")
    val isGuest = json.opt("isGuest") as? Boolean
    /** The guest who has signed in to this account. */
    val guestId = json.textOrNull("guestId")
}

/** Keeps the tokens of a session, and refreshes them once for all concurrent callers. */
internal class SessionKeeper(private val core: Core, private val slot: Slot) {
    /** The access token of a deletion that got no response; [DELETION_CONFIRMED] once the server has refused it. */
    var deletion: String? = null
    private val loop = core.loop
    private val changing = Mutex()
    private val refreshing = Shared<StoredSession>(loop)
    private val signIns = mutableSetOf<Pending<*>>()

    suspend fun <T> trackSignIn(signIn: suspend () -> T): T {
        val running = loop.launch(signIn).also { signIns.add(it) }
        return try { running.await() } finally { signIns.remove(running) }
    }
    /** With [isFirst], throws `conflict` if a user has signed in since. */
    suspend fun keep(session: JSONObject, isFirst: Boolean) = changing.run {
        if (isFirst && read() != null) throw alreadySignedIn()
        deletion = null
        store(session, AuthChangeReason.SIGNED_IN)
    }
    suspend fun forget(reason: AuthChangeReason) = changing.run { clear(reason) }
    /** Returns the stored session; null if no user is signed in, or if the stored session is damaged. */
    suspend fun read(): StoredSession? = toSession(slot.read())
    /** Returns a session whose access token is valid by our clock. Throws `unauthenticated` if no user is signed in. */
    suspend fun readFresh(): StoredSession {
        val stored = read()
        return if (stored != null && stored.expiresAt - 30_000 > loop.clock.now()) stored else renew(stored)
    }
    /** Callers share one refresh. Throws `unauthenticated` if signed out, `conflict` for another user. */
    suspend fun renew(stored: StoredSession?): StoredSession {
        if (stored == null) throw notSignedIn()
        val next = refreshing.join { refresh(stored.accessToken) }
        return if (stored.userId != null && next.userId != stored.userId) throw userChanged() else next
    }

    private fun isOurs(json: JSONObject?) = (json?.textOrNull("baseUrl") ?: core.baseUrl) == core.baseUrl
    private fun toSession(text: String?) =
        parsed(text)?.takeIf { isOurs(it) && it.opt("refreshToken") is String }?.let(::StoredSession)

    private suspend fun store(session: JSONObject, reason: AuthChangeReason): StoredSession {
        val user = session.getJSONObject("user")
        val before = attempt { read() }
        val replacedId = before?.userId?.takeIf { before.isGuest == true }
        val stored = jsonOf(
            "accessToken" to session.get("accessToken"), "refreshToken" to session.get("refreshToken"),
            "expiresAt" to loop.clock.now() + session.getLong("expiresIn") * 1000, "userId" to user.get("_id"),
            "isGuest" to (user.opt("loginType") == "guest"), "baseUrl" to core.baseUrl,
            "guestId" to if (before?.userId == user.get("_id")) before?.guestId else replacedId,
        )
        slot.write(stored.toString())
        core.onSessionChange(AuthChange(reason, true, user.getString("_id")))
        return StoredSession(stored)
    }
    /** Also removes a session that cannot be read: a phone that has lost its key can never read it again. */
    private suspend fun clear(reason: AuthChangeReason) {
        val text = runCatching { slot.read() }
        if (text.isFailure || isOurs(parsed(text.getOrNull()))) slot.clear()
        if (text.isFailure || toSession(text.getOrNull()) != null) core.onSessionChange(AuthChange(reason, false, null))
    }
    /** Waits for sign-ins first: the server ends a guest's session at sign-in, and the new session may soon arrive. */
    private suspend fun end(refused: String) {
        for (signIn in signIns.toList()) attempt { signIn.await() }
        changing.run {
            if (read()?.accessToken == refused) {
                if (refused == deletion) deletion = DELETION_CONFIRMED
                clear(AuthChangeReason.SESSION_ENDED)
            }
        }
    }
    /** The server repeats a lost response. The delays outlast the 5 s in which another process may have refreshed. */
    private suspend fun refresh(staleToken: String): StoredSession {
        val delays = mutableListOf(500L, 2_000L, 3_000L)
        while (true) {
            val stored = read() ?: throw notSignedIn()
            // Another process or an earlier caller has already refreshed the session.
            if (stored.accessToken != staleToken) return stored
            try { return exchange(stored) } catch (error: HomeportError) {
                if (error.isSessionEnded) {
                    end(staleToken)
                    return read() ?: throw error
                }
                val isTransient = error.code in setOf("network_error", "timeout", "conflict") || error.status >= 500
                if (!isTransient) throw error
                loop.sleep(delays.removeFirstOrNull() ?: throw error)
            }
        }
    }
    private suspend fun exchange(stored: StoredSession): StoredSession {
        val session = core.exchangeRefreshToken(stored.refreshToken)
        return changing.run {
            // In the meantime the user may have signed out, or another user may have signed in.
            if (read()?.refreshToken == stored.refreshToken) store(session, AuthChangeReason.REFRESHED)
            else StoredSession(session.put("expiresAt", 0).put("userId", stored.userId))
        }
    }
}

/** Returns the session or challenge in the response to a sign-in. Throws `reply_invalid` for anything else. */
private fun readSession(reply: Envelope): JSONObject = (reply.data as? JSONObject)?.takeIf { json ->
    val isSession = json.opt("accessToken") is String && json.opt("refreshToken") is String &&
        json.opt("expiresIn") is Number && json.optJSONObject("user")?.opt("_id") is String
    isSession || json.opt("challengeToken") is String
} ?: throw noSession()

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

// ---- Caller ----

/** The state that all clients from [Homeport.with] share. */
internal class Core(
    baseUrl: String, storage: Storage, offlineStorage: Storage, private val commonHeaders: () -> Headers, env: String?,
    pinnedKeys: List<String>?, signingKeys: List<String>?, val timeout: Duration,
    private val listenerExecutor: Executor, platform: Platform,
) {
    val baseUrl = baseUrl.trimEnd('/')
    val loop = Loop(platform)
    val authChanges = Listeners<AuthChange>()
    val session = SessionKeeper(this, Slot(storage, "homeport.session", loop))
    val kept = KeptResponses(this, Slot(offlineStorage, "homeport.kept", loop), signingKeys)
    val changes = ChangeStream(this)
    val purchases = PurchaseQueue(this, Slot(offlineStorage, "homeport.purchases", loop))
    val startingGuest = Shared<Session>(loop)
    private val send: suspend (Request) -> Reply

    init {
        require(Regex("https?://[^\\s/?#@]+(/[^\\s?#]*)?", RegexOption.IGNORE_CASE).matches(baseUrl)) {
            "baseUrl must be a URL such as https://api.example.com, without spaces or a query; it is \"$baseUrl\"."
        }
        val word = env?.takeUnless { it in setOf("", "null", "undefined") } ?: "test"
        require(word != "test" || pinnedKeys == null) { "pinnedKeys has no effect without an env that seals." }
        val network = Network(loop, platform.transport, this.baseUrl)
        send = if (word == "test") network::sendPlain else Sealer(word, pinnedKeys, network)::send
    }

    suspend fun <T> run(cancellation: Cancellation?, timeout: Duration, work: suspend (Deadline) -> T): T =
        loop.enter { withDeadline(loop, cancellation, timeout.inWholeMilliseconds, work) }

    suspend fun callAsUser(method: String, path: String, content: Content): Envelope =
        withToken { call(method, path, it, content) }

    /** Retries once with a new token: the session has ended only if it cannot be refreshed. */
    suspend fun <T> withToken(request: suspend (String) -> T): T {
        val stored = session.readFresh()
        try { return request(stored.accessToken) } catch (error: HomeportError) {
            // An intermediary's refusal must not make the client send a request twice.
            if (!error.isTokenRefused) throw error
            val next = try { session.renew(stored) } catch (failure: HomeportError) {
                // Another user has since signed in: the server refused the previous user's request.
                throw if (failure.code == "conflict") error else failure
            }
            return request(next.accessToken)
        }
    }

    /** Shared by all callers: no caller's cancellation or timeout ends it. */
    suspend fun exchangeRefreshToken(refreshToken: String): JSONObject = run(null, timeout) { deadline ->
        val content = Content(deadline, Body.json(jsonOf("refreshToken" to refreshToken)))
        readSession(call("post", "/api/auth/refresh/v1", null, content))
    }

    suspend fun onSessionChange(change: AuthChange) {
        authChanges.notify(change)
        kept.forgetOthers(change.userId)
    }

    /** An error in the app's listener must not fail the call. */
    fun <T> notifyApp(value: T, listener: (T) -> Unit) {
        attempt { listenerExecutor.execute { attempt { listener(value) } } }
    }

    /** Reads go through the kept responses. */
    suspend fun call(method: String, path: String, token: String?, content: Content): Envelope {
        val value = KeptValue.all.find { method == "get" && it.path == path }
            ?: return request(method, path, token, content)
        return kept.fetch(value.name, path, token, content)
    }

    /** Turns a call into requests, and the response into an envelope or an error. Only reads are retried. */
    suspend fun request(method: String, path: String, token: String?, content: Content): Envelope {
        // Encoded as URL libraries do, because a sealed request contains the query that the server will see.
        val query = content.query.filterValues { it != null }
            .map { (name, value) -> "$name=${encoded(value.toString()).replace("'", "%27")}" }
        val target = if (query.isEmpty()) path else query.joinToString("&", "$path?")
        val delays = if (method == "get") mutableListOf(300, 1_000) else mutableListOf()
        while (true) try {
            val headers = commonHeaders() + content.headers
            val reply = send(Request(method.uppercase(Locale.ROOT), target, headers, token, content))
            content.onHeaders?.invoke(reply.header)
            return if (reply.isStream) Envelope(jsonOf("code" to "ok")) else readEnvelope(reply, method)
        } catch (error: HomeportError) {
            val wait = delays.removeFirstOrNull()?.let { waitBeforeRetry(error, it) }
            if (wait == null || content.deadline.failure != null) throw error
            loop.sleep(wait)
        }
    }

    /** In ms, randomized so that phones do not all retry at once; null if a retry would not help. */
    private fun waitBeforeRetry(error: HomeportError, delay: Int): Long? {
        val isTransient = error.code == "network_error" || error.status in setOf(502, 503, 504)
        val requestedSeconds = error.retryAfter ?: 0
        if (!isTransient || requestedSeconds > 5) return null
        return max((delay * (0.5 + loop.random())).toLong(), requestedSeconds * 1000)
    }

    /** A captive portal, for example, can return the same status as Homeport. */
    private fun readEnvelope(reply: Reply, method: String): Envelope {
        val json = parsed(reply.text) ?: JSONObject()
        val (code, message) = json.textOrNull("code") to json.textOrNull("message")
        val hasData = json.opt("response").let { it is JSONObject || it is JSONArray }
        val isComplete = code != null && (hasData || (method != "get" && message != null))
        if (reply.status < 400 && isComplete) return Envelope(json)
        val failure = code?.takeIf { reply.status >= 400 }
        throw HomeportError(
            reply.status, failure ?: "reply_invalid", message?.takeIf { failure != null }
                ?: "The server answered ${reply.status} with a response that cannot be read.",
            attempt { objects(json.get("details")) }.orEmpty()
                .map { HomeportError.Detail(it.optString("path"), it.optString("message")) },
            json.textOrNull("requestId"), reply.header("retry-after")?.let(::parseRetryAfter), reply.isGenuine,
        )
    }

    /** `Retry-After` (RFC 9110) is a number of seconds or a date. */
    private fun parseRetryAfter(text: String): Long? {
        val seconds = if (Regex("[\\d.]+").matches(text)) text.toDoubleOrNull()
        else parseHttpDate(text)?.let { (it - loop.clock.now()) / 1000.0 }
        return seconds?.let { max(0, ceil(it).toLong()) }
    }
}

/** The content of a call. [onText] receives an event stream, [onHeaders] the headers of each response. */
internal class Content(
    val deadline: Deadline, val body: Body? = null, val query: Query = emptyMap(), val headers: Headers = emptyMap(),
    val onText: ((String) -> Unit)? = null, val onHeaders: (((String) -> String?) -> Unit)? = null,
)

/** A request body of [size] bytes, which is opened for each attempt. */
class Body(val contentType: String, val size: Long, val open: () -> InputStream) {
    internal companion object {
        fun of(contentType: String, bytes: ByteArray) = Body(contentType, bytes.size.toLong()) { bytes.inputStream() }
        fun json(value: JSONObject) = of("application/json", value.toString().toByteArray())
        /** `multipart/form-data` (RFC 7578), which streams the files. Throws `file_unreadable`. */
        fun form(files: List<UploadFile>): Body {
            val boundary = "homeport-${randomHex()}"
            files.forEach { open(it).close() }
            val parts = files.flatMap { file ->
                // Quoted as in RFC 822; the server decodes `%25`.
                val line = file.name.replace("%", "%25").replace(Regex("[\r\n]+"), " ")
                val name = line.replace(Regex("[\"\\\\]"), "\\\\$0")
                val head = "--$boundary\r\nContent-Disposition: form-data; name=\"file\"; filename=\"$name\"\r\n" +
                    "Content-Type: ${file.type?.ifEmpty { null } ?: "application/octet-stream"}\r\n\r\n"
                listOf(of("", head.toByteArray()), Body("", file.size) { open(file) }, of("", "\r\n".toByteArray()))
            } + of("", "--$boundary--\r\n".toByteArray())
            return Body("multipart/form-data; boundary=$boundary", parts.sumOf { it.size }) {
                SequenceInputStream(Collections.enumeration(parts.map { Lazily(it.open) }))
            }
        }
        private fun open(file: UploadFile) = try { file.open() } catch (cause: Exception) {
            throw HomeportError(0, "file_unreadable", "The file ${file.name} cannot be read.", cause = cause)
        }
    }
}

/** A response from Homeport: `code`, `response`, `message` and `next`. */
internal class Envelope(val json: JSONObject) {
    val message: String get() = json.optString("message")
    val data: Any get() = json.opt("response") ?: json
    fun <T> one(from: (JSONObject) -> T): T = decode { from(data as JSONObject) }
    fun <T> many(from: (JSONObject) -> T): List<T> = decode { objects(data).map(from) }
}

/** The timeout and cancellation of one call. [timeoutMs]: for an upload, the longest time without progress. */
internal class Deadline(val timeoutMs: Long, private val loop: Loop, private val onFailure: (HomeportError) -> Unit) {
    var failure: HomeportError? = null
    var onProgress: ((Progress) -> Unit)? = null
    var cancelRequest: () -> Unit = {}
    var finish: () -> Unit = {}
    /** The call has [ms] from now, or no limit if that exceeds the longest timer. */
    fun restart(ms: Long) {
        finish()
        if (failure == null && ms <= Int.MAX_VALUE)
            finish = loop.schedule(ms) { fail("timeout", "The server did not answer in time.") }
    }
    fun fail(code: String, message: String) {
        if (failure != null) return
        finish()
        failure = HomeportError(0, code, message).also(onFailure)
        cancelRequest()
    }
}

/** Fails immediately on cancellation or timeout, even while waiting for a retry, a refresh or the storage. */
private suspend fun <T> withDeadline(
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
        done.complete(result.recoverCatching { error ->
            throw error as? HomeportError ?: HomeportError(0, "unexpected", error.toString(), cause = error)
        })
    }
    return try { done.await() } finally { stopListening?.invoke() }
}

// ---- Loop and network ----

/** The dependencies that tests replace. [random] returns 0 to 1. */
class Platform(
    val transport: Transport = defaultTransport(), val clock: Clock = SystemClock,
    val random: () -> Double = Math::random,
)
/** All times are in ms. [now]: since 1970. [elapsed]: monotonic, since an arbitrary moment. */
interface Clock {
    fun now(): Long
    fun elapsed(): Long
    /** Calls [work] once, after [ms]. Returns a function that cancels it. */
    fun schedule(ms: Long, work: () -> Unit): () -> Unit
}
private object SystemClock : Clock {
    private val timers = ScheduledThreadPoolExecutor(1, threads("timers")).apply { removeOnCancelPolicy = true }
    override fun now() = System.currentTimeMillis()
    /** On Android, the only monotonic clock that continues while the phone sleeps. */
    private val elapsedRealtime = attempt { Class.forName("android.os.SystemClock").getMethod("elapsedRealtime") }
    override fun elapsed() = attempt { elapsedRealtime?.invoke(null) as Long? } ?: (System.nanoTime() / 1_000_000)
    override fun schedule(ms: Long, work: () -> Unit): () -> Unit {
        val timer = timers.schedule(work, ms, TimeUnit.MILLISECONDS)
        return { timer.cancel(false) }
    }
}
private fun threads(name: String) = ThreadFactory { work -> Thread(work, "homeport-$name").apply { isDaemon = true } }
private fun daemonThread(name: String) = Executors.newSingleThreadExecutor(threads(name))
private val workers = Executors.newCachedThreadPool(threads("worker"))
private val disk = daemonThread("storage")

/** Runs the client's code on one thread, so that only one coroutine runs at a time, until it suspends. */
internal class Loop(platform: Platform) :
    AbstractCoroutineContextElement(ContinuationInterceptor), ContinuationInterceptor {
    val clock = platform.clock
    val random = platform.random
    private val thread = daemonThread("client")
    fun post(work: () -> Unit) = thread.execute(work)
    fun schedule(ms: Long, work: () -> Unit): () -> Unit = clock.schedule(ms) { post(work) }
    override fun <T> interceptContinuation(continuation: Continuation<T>): Continuation<T> =
        Continuation(continuation.context) { result -> post { continuation.resumeWith(result) } }
    fun <T> launch(work: suspend () -> T): Pending<T> =
        Pending<T>().also { pending -> work.startCoroutine(Continuation(this) { pending.complete(it) }) }
    /** For a caller outside the loop, which resumes in its own context. */
    suspend fun <T> enter(work: suspend () -> T): T = suspendCoroutine { caller ->
        // Not on the loop's thread: under Dispatchers.Unconfined, the caller would resume there, and could block it.
        val executor = if (caller.context[ContinuationInterceptor] is Loop) Executor { it.run() } else workers
        work.startCoroutine(Continuation(this) { result -> executor.execute { caller.resumeWith(result) } })
    }
    /** For long-running work. */
    suspend fun <T> blocking(executor: Executor = workers, work: () -> T): T =
        suspendCoroutine { waiting -> executor.execute { waiting.resumeWith(runCatching(work)) } }
    suspend fun sleep(ms: Long): Unit = suspendCoroutine { waiting -> schedule(ms) { waiting.resume(Unit) } }
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
    fun onDone(listener: (Result<T>) -> Unit) { result?.let(listener) ?: waiting.add(listener) }
    suspend fun await(): T = suspendCoroutine { onDone(it::resumeWith) }
}
/** Work that later callers join while it runs. */
internal class Shared<T>(private val loop: Loop) {
    private var running: Pending<T>? = null
    suspend fun join(work: suspend () -> T): T = (running ?: loop.launch(work).also { started ->
        running = started
        started.onDone { running = null }
    }).await()
}
/** Runs one change at a time: each depends on the stored state, and the storage may be slow. */
internal class Mutex {
    private var last = Pending<Unit>().apply { complete(Result.success(Unit)) }
    suspend fun <T> run(change: suspend () -> T): T {
        val (before, done) = last to Pending<Unit>()
        last = done
        before.await()
        return try { change() } finally { done.complete(Result.success(Unit)) }
    }
}
internal class Listeners<T> {
    private val listeners = CopyOnWriteArrayList<(T) -> Unit>()
    fun isEmpty() = listeners.isEmpty()
    fun notify(value: T) = listeners.forEach { it(value) }
    /** Returns a function that removes the listener. */
    fun add(listener: (T) -> Unit): () -> Unit {
        val registered: (T) -> Unit = { listener(it) }
        listeners.add(registered)
        return { listeners.remove(registered) }
    }
}

class HttpRequest(val method: String, val url: String, val headers: Map<String, String>, val body: Body?)
class HttpReply(val status: Int, val header: (String) -> String?, val body: InputStream)
/** Sends requests, on threads that may block. */
fun interface Transport {
    /** [onSent] is called with the number of bytes of the body that have been sent. */
    fun start(request: HttpRequest, onSent: (Long) -> Unit): Exchange
    interface Exchange {
        /** Returns once the headers of the response have arrived. Throws an IOException. */
        fun reply(): HttpReply
        fun cancel()
    }
}
/** The platform's HTTP client; the JVM's HttpURLConnection, unlike Android's, refuses PATCH. */
private fun defaultTransport(): Transport {
    val isAndroid = attempt { Class.forName("java.net.http.HttpClient") } == null
    return if (isAndroid) Transport(::AndroidExchange) else Transport(::JvmExchange)
}

internal class AndroidExchange(
    private val request: HttpRequest, private val onSent: (Long) -> Unit,
) : Transport.Exchange {
    private val connection = URL(request.url).openConnection() as HttpURLConnection
    @Volatile private var isCancelled = false
    override fun reply(): HttpReply = try { exchange() } catch (cause: Throwable) {
        connection.disconnect()
        throw cause
    }
    private fun exchange(): HttpReply = with(connection) {
        requestMethod = request.method
        useCaches = false
        instanceFollowRedirects = false
        // After that, the server's next address is tried.
        connectTimeout = 10_000
        request.headers.forEach(::setRequestProperty)
        if (request.method != "GET") {
            doOutput = true
            // The platform does not repeat a request that it streams, even an empty one.
            setFixedLengthStreamingMode(request.body?.size ?: 0L)
        }
        connect()
        // Before this point, disconnecting has no effect.
        if (isCancelled) throw IOException("The request was cancelled.")
        if (doOutput) outputStream.use { output ->
            request.body?.let { body -> Counting(body.open(), onSent).use { it.copyTo(output) } }
        }
        val body = if (responseCode < 400) inputStream else errorStream
        HttpReply(responseCode, { getHeaderField(it) }, body ?: ByteArray(0).inputStream())
    }
    override fun cancel() {
        isCancelled = true
        connection.disconnect()
    }
}

/** Uses java.net.http through reflection, because Android lacks its types. */
internal class JvmExchange(request: HttpRequest, onSent: (Long) -> Unit) : Transport.Exchange {
    /** A class of java.net.http, with an instance of it. */
    private class Java(private val type: Class<*>, val value: Any? = null) {
        constructor(name: String, value: Any? = null) : this(Class.forName("java.net.http.$name"), value)
        fun call(name: String, vararg args: Any?): Java {
            val method = type.methods.first { it.name == name && it.parameterCount == args.size }
            return Java(method.returnType, method.invoke(value, *args))
        }
    }
    private val sending: CompletableFuture<*>
    @Volatile private var isCancelled = false

    init {
        val builder = Java("HttpRequest").call("newBuilder", URI(request.url))
        request.headers.forEach { (name, value) -> builder.call("header", name, value) }
        val publishers = Java("HttpRequest\$BodyPublishers")
        val publisher = request.body?.let { body ->
            val onRead = { size: Long ->
                if (isCancelled) throw IOException("The request was cancelled.")
                onSent(size)
            }
            val open = Supplier<InputStream> { Counting(body.open(), onRead) }
            publishers.call("fromPublisher", publishers.call("ofInputStream", open).value, body.size)
        } ?: publishers.call("noBody")
        val message = builder.call("method", request.method, publisher.value).call("build").value
        val handler = Java("HttpResponse\$BodyHandlers").call("ofInputStream").value
        sending = client.call("sendAsync", message, handler).value as CompletableFuture<*>
    }
    override fun reply(): HttpReply {
        val reply = Java("HttpResponse", sending.get())
        val headers = reply.call("headers")
        val header = { name: String -> (headers.call("firstValue", name).value as Optional<*>).orElse(null) as String? }
        return HttpReply(reply.call("statusCode").value as Int, header, reply.call("body").value as InputStream)
    }
    override fun cancel() {
        isCancelled = true
        sending.thenAccept { (Java("HttpResponse", it).call("body").value as InputStream).close() }
        // Before Java 16 this does not end the request, and loses the response, which must be closed.
        if (System.getProperty("java.specification.version").toFloat() >= 16) sending.cancel(true)
    }
    private companion object {
        val client by lazy {
            val version = Class.forName("java.net.http.HttpClient\$Version").enumConstants[0]
            Java("HttpClient").call("newBuilder").call("version", version).call("build")
        }
    }
}

/** Reports how much has been read. */
private class Counting(input: InputStream, private val onRead: (Long) -> Unit) : FilterInputStream(input) {
    private var count = 0L
    override fun read(bytes: ByteArray, offset: Int, length: Int): Int {
        val size = super.read(bytes, offset, length)
        if (size > 0) count += size
        if (size > 0) onRead(count)
        return size
    }
}
/** Opened at the first read. */
private class Lazily(open: () -> InputStream) : InputStream() {
    private val input = lazy(open)
    override fun read() = input.value.read()
    override fun read(bytes: ByteArray, offset: Int, length: Int) = input.value.read(bytes, offset, length)
    override fun close() { if (input.isInitialized()) input.value.close() }
}

/** A request before it is sealed, or sent unsealed. [target]: path and query, percent-encoded. */
internal class Request(
    val method: String, val target: String, val headers: Headers, val token: String?, val content: Content,
)
/** An opened response. [isGenuine]: the server sealed it, at [sealedAt] (ms), or sealing is off. */
internal class Reply(
    val status: Int, val text: String, val header: (String) -> String?, val isStream: Boolean = false,
    val isGenuine: Boolean = false, val sealedAt: Long? = null,
)

internal class Network(val loop: Loop, private val transport: Transport, val baseUrl: String) {
    suspend fun sendPlain(request: Request): Reply {
        val headers = request.headers + listOfNotNull(
            "env" to "test", request.token?.let { "authorization" to "Bearer $it" },
            request.content.body?.let { "content-type" to it.contentType },
        )
        return send(Request(request.method, request.target, headers, null, request.content), request.content.body, true)
    }

    /** Sends [body] instead of the request's own. */
    suspend fun send(request: Request, body: Body?, isGenuine: Boolean = false): Reply {
        val (deadline, onText) = request.content.deadline to request.content.onText
        deadline.failure?.let { throw it }
        // A cached read would hide a change that `onChange` has just reported.
        val caching = if (request.method == "GET") mapOf("cache-control" to "no-cache") else emptyMap()
        val onProgress = deadline.onProgress
        if (onProgress != null) deadline.restart(deadline.timeoutMs)
        val onSent = { sent: Long ->
            if (onProgress != null) loop.post {
                deadline.restart(deadline.timeoutMs)
                onProgress(Progress(sent, body?.size ?: 0))
            }
        }
        try {
            val message = HttpRequest(request.method, baseUrl + request.target, request.headers + caching, body)
            val exchange = loop.blocking { transport.start(message, onSent) }
            // On Android, an uncaught exception on a thread would end the app.
            deadline.cancelRequest = { workers.execute { attempt { exchange.cancel() } } }
            deadline.failure?.let {
                deadline.cancelRequest()
                throw it
            }
            return loop.blocking { receive(exchange.reply(), onText, isGenuine) }
        } catch (cause: Exception) {
            throw deadline.failure
                // A file that cannot be read.
                ?: generateSequence<Throwable>(cause) { it.cause }.firstNotNullOfOrNull { it as? HomeportError }
                ?: HomeportError(0, "network_error", "The server cannot be reached.", cause = cause)
        }
    }

    private fun receive(reply: HttpReply, onText: ((String) -> Unit)?, isGenuine: Boolean): Reply {
        val listener = onText?.takeIf { reply.header("content-type")?.startsWith("text/event-stream") == true }
        val text = reply.body.use { body ->
            if (listener == null) readText(body, reply.status) else readStream(body.reader(), listener)
        }
        return Reply(reply.status, text, reply.header, isStream = listener != null, isGenuine = isGenuine)
    }

    /** An endless response must not fill the memory. */
    private fun readText(body: InputStream, status: Int): String {
        val (bytes, buffer) = ByteArrayOutputStream() to ByteArray(8192)
        while (true) {
            val size = body.read(buffer)
            if (size < 0) return String(bytes.toByteArray())
            bytes.write(buffer, 0, size)
            if (bytes.size() > 32 * 1024 * 1024)
                throw HomeportError(status, "reply_invalid", "The server's response is too long.")
        }
    }

    private fun readStream(reader: Reader, onText: (String) -> Unit): String {
        val buffer = CharArray(4096)
        while (true) {
            // However the stream ends, the caller reconnects.
            val size = attempt { reader.read(buffer) } ?: -1
            if (size < 0) return ""
            val text = String(buffer, 0, size)
            loop.post { onText(text) }
        }
    }
}

// ---- Sealing ----

internal class ServerKey(val kid: String, val key: ECPublicKey)
/** A sealed request, and what its response must match. */
internal class Sealed(val message: String, val jti: String, val replyKey: ByteArray)

/** Seals requests, and opens their responses. [env]: any value except `test`. */
internal class Sealer(private val env: String, private val pinnedKeys: List<String>?, private val network: Network) {
    private val loop = network.loop
    private val clock = loop.clock
    private val reading = Shared<ServerKey>(loop)
    private var known: Pair<ServerKey, Long>? = null
    /** How far the server's clock is ahead of ours, in ms. */
    private var clockOffset = 0L

    /**
     * Retries once with a new key and once with a corrected clock. The plain response that requests this could be
     * forged after the request was executed: all attempts have one id, and the time must come from a sealed response.
     */
    suspend fun send(request: Request): Reply {
        val (id, startedAt) = base64url(randomBytes(16)) to clock.elapsed()
        val handled = mutableSetOf<String?>()
        while (true) {
            val at = clock.now() + clockOffset
            val reply = exchange(request, id, at)
            val code = if (reply.isGenuine) null else parsed(reply.text)?.textOrNull("code")
            if (code in handled || !recover(code, reply.text, at, request.content.deadline)) return reply
            // After a minute, the server may have forgotten the first message, and would execute the request twice.
            if (clock.elapsed() - startedAt > 60_000) return reply
            handled.add(code)
        }
    }

    /** Replaces the key or corrects the clock after a refusal of a message sealed at [at]. Returns whether to retry. */
    private suspend fun recover(code: String?, text: String, at: Long, deadline: Deadline): Boolean = when (code) {
        "encryption_stale" -> syncClock(at, text, deadline)
        "encryption_unknown_key" -> { known = null; currentKey(); true }
        else -> false
    }

    /** Reads the server's clock. Returns whether a message sealed at [at] is stale. */
    private suspend fun syncClock(at: Long, text: String, deadline: Deadline): Boolean {
        val time = Regex("\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z").find(text)?.value
        val claimed = attempt { Instant.parse(time).toEpochMilli() } ?: clock.now()
        val onProgress = deadline.onProgress.also { deadline.onProgress = null }
        val startedAt = clock.now()
        val request = Request("GET", CONTENT_VERSION, emptyMap(), null, Content(deadline))
        val sealedAt = exchange(request, base64url(randomBytes(16)), claimed).sealedAt
        deadline.onProgress = onProgress
        // A slow reading is too inaccurate.
        if (sealedAt == null || abs(clock.now() - startedAt) > 10_000) return false
        clockOffset = sealedAt - clock.now()
        return abs(sealedAt - at) > 300_000
    }

    private suspend fun exchange(request: Request, id: String, at: Long): Reply {
        val (key, body) = currentKey() to request.content.body
        val sealed = loop.blocking { seal(request, body?.open?.invoke()?.use { it.readBytes() }, key, at, id) }
        val headers = request.headers + mapOf("env" to env) +
            if (body == null) mapOf("payload" to sealed.message) else mapOf("content-type" to JOSE)
        val message = Request(request.method, request.target, headers, null, request.content)
        val reply = network.send(message, body?.let { Body.of(JOSE, sealed.message.toByteArray()) })
        val isSealed = reply.header("content-type")?.startsWith(JOSE) == true
        if (reply.isStream || (!isSealed && reply.status >= 400)) return reply
        if (isSealed) return openReply(reply, sealed)
        val text = "The response is not sealed: it comes from an intermediary between the app and the server."
        throw HomeportError(reply.status, "reply_not_sealed", text)
    }

    private suspend fun currentKey(): ServerKey {
        val old = known
        if (old != null && clock.now() - old.second < 3_600_000) return old.first
        // Shared, so no caller's cancellation or timeout ends it.
        try { return reading.join { withDeadline(loop, null, 30_000, ::readKey) } } catch (error: HomeportError) {
            // The server accepts an old key for weeks, so it still works while the keys cannot be read.
            if (old == null || error.code == "no_trusted_key") throw error
            return old.first
        }
    }

    private suspend fun readKey(deadline: Deadline): ServerKey {
        // Intermediate caches could still hold a key that has just been retired.
        val target = "/.well-known/jwks.json?at=${clock.now()}"
        val reply = network.send(Request("GET", target, emptyMap(), null, Content(deadline)), null)
        val keys = attempt { objects(parsed(reply.text)!!.get("keys")) } ?: throw noKeys(reply.status)
        // The current key comes first. The thumbprint is computed: the key's own `kid` proves nothing.
        val jwk = keys.filter { it.opt("x") is String && it.opt("y") is String }.firstOrNull {
            it.opt("use") == "enc" && it.opt("kty") == "EC" && it.opt("crv") == "P-256" &&
                (pinnedKeys == null || thumbprint(it) in pinnedKeys)
        } ?: throw HomeportError(0, "no_trusted_key", "The server publishes no key that this app trusts.")
        val key = attempt { ServerKey(thumbprint(jwk), publicKey(jwk)) } ?: throw noKeys(200)
        return key.also { known = it to clock.now() }
    }

    private fun noKeys(status: Int) = HomeportError(
        status, "reply_invalid", "The server publishes no keys: check that baseUrl is its URL, without a path.",
    )
}

/** A compact JWE (RFC 7516: ECDH-ES, A256GCM). [at] in ms. The server executes each [jti] once. */
internal fun seal(request: Request, body: ByteArray?, server: ServerKey, at: Long, jti: String): Sealed {
    val (replyKey, own) = randomBytes(32) to newKeyPair()
    val line = jsonOf(
        "v" to 1, "jti" to jti, "iat" to at / 1000, "htm" to request.method, "htu" to request.target,
        "ath" to (request.token?.let { base64url(sha256(it.toByteArray())) } ?: JSONObject.NULL),
        // Inside the sealed part: in a header, an intermediary could read the token and use it.
        "at" to request.token, "rk" to base64url(replyKey),
    )
    val (x, y) = (own.public as ECPublicKey).w.let { listOf(it.affineX, it.affineY) }.map { base64url(fixed(it)) }
    val header = jsonOf(
        "alg" to "ECDH-ES", "enc" to "A256GCM", "kid" to server.kid, "typ" to "req+jwe",
        "cty" to request.content.body?.contentType,
        "epk" to jsonOf("kty" to "EC", "crv" to "P-256", "x" to x, "y" to y),
    )
    val plaintext = "$line\n".toByteArray() + (body ?: ByteArray(0))
    val message = encrypt(header.toString(), plaintext, contentKey(own.private, server.key), randomBytes(12))
    return Sealed(message, jti, replyKey)
}

/** The key that both sides derive with the Concat KDF of RFC 7518, section 4.6.2. */
internal fun contentKey(own: PrivateKey, other: PublicKey): ByteArray {
    val agreement = KeyAgreement.getInstance("ECDH").apply { init(own) }
    agreement.doPhase(other, true)
    val info = byteArrayOf(0, 0, 0, 7) + "A256GCM".toByteArray() + ByteArray(10) + byteArrayOf(1, 0)
    return sha256(byteArrayOf(0, 0, 0, 1) + agreement.generateSecret() + info)
}

internal fun encrypt(header: String, plaintext: ByteArray, key: ByteArray, iv: ByteArray): String {
    val head = base64url(header.toByteArray())
    val sealed = gcm(Cipher.ENCRYPT_MODE, key, iv, head).doFinal(plaintext)
    val (text, tag) = sealed.copyOf(sealed.size - 16) to sealed.copyOfRange(sealed.size - 16, sealed.size)
    return "$head..${base64url(iv)}.${base64url(text)}.${base64url(tag)}"
}

/** Opens the response to one request, and refuses any other response. */
internal fun openReply(reply: Reply, sealed: Sealed): Reply = try {
    val (head, key, iv, text, tag) = reply.text.split('.').also { check(it.size == 5) }
    val header = JSONObject(String(fromBase64url(head)))
    check(header.opt("alg") == "dir" && header.opt("enc") == "A256GCM" && key.isEmpty() && !header.has("zip"))
    val content = gcm(Cipher.DECRYPT_MODE, sealed.replyKey, fromBase64url(iv), head)
        .doFinal(fromBase64url(text) + fromBase64url(tag))
    val (first, body) = String(content).split('\n', limit = 2)
    val line = JSONObject(first)
    check(header.opt("typ") == "res+jwe" && header.opt("kid") == sealed.jti && line.opt("v") == 1)
    check(line.opt("jti") == sealed.jti && line.opt("status") == reply.status)
    val readHeader = { name: String -> if (name == "content-type") header.textOrNull("cty") else reply.header(name) }
    Reply(reply.status, body, readHeader, isGenuine = true, sealedAt = line.getLong("iat") * 1000)
} catch (cause: Exception) {
    val text = "The response is not the one that the server sealed for this request."
    throw HomeportError(reply.status, "reply_invalid", text, cause = cause)
}

private fun gcm(mode: Int, key: ByteArray, iv: ByteArray, authenticated: String) =
    Cipher.getInstance("AES/GCM/NoPadding").apply {
        init(mode, SecretKeySpec(key, "AES"), GCMParameterSpec(128, iv))
        updateAAD(authenticated.toByteArray())
    }
private fun newKeyPair() =
    KeyPairGenerator.getInstance("EC").apply { initialize(ECGenParameterSpec("secp256r1")) }.generateKeyPair()
private val p256 by lazy { (newKeyPair().public as ECPublicKey).params }
internal fun publicKey(jwk: JSONObject): ECPublicKey {
    val (x, y) = listOf("x", "y").map { BigInteger(1, fromBase64url(jwk.getString(it))) }
    return KeyFactory.getInstance("EC").generatePublic(ECPublicKeySpec(ECPoint(x, y), p256)) as ECPublicKey
}
/** As 32 bytes. */
private fun fixed(number: BigInteger) = (ByteArray(32) + number.toByteArray()).takeLast(32).toByteArray()
/** RFC 7638. */
private fun thumbprint(jwk: JSONObject): String {
    val members = listOf("crv", "kty", "x", "y").joinToString(",") { "\"$it\":\"${jwk.getString(it)}\"" }
    return base64url(sha256("{$members}".toByteArray()))
}

// ---- Kept values ----

/** Keeps the last response of each kind for the signed-in user. */
internal class KeptResponses(private val core: Core, private val slot: Slot, private val signingKeys: List<String>?) {
    private val clock = core.loop.clock
    private val changing = Mutex()
    /** The server's time at a response, and the platform's monotonic clock then, both in ms. */
    private var anchor: Pair<Long, Long>? = null

    /** Sends a request that reads a value, and keeps the response. A storage that fails does not fail the call. */
    suspend fun fetch(name: String, path: String, token: String?, content: Content): Envelope {
        val lang = content.query["lang"]
        val current = attempt { core.session.read() }
        val isOwn = name in setOf("plans", "rates", "faqs") || token == current?.accessToken
        val isProduction = (content.query["environment"] ?: "production") == "production"
        if (!isOwn || !isProduction) return core.request("get", path, token, content)
        val userId = current?.userId
        val known = entry(load(userId), name)?.takeIf { it.opt("lang") == lang }
        var etag: String? = null
        var asOf = clock.now()
        val proof = if (name == "subscription") mapOf("proof" to true) else emptyMap()
        val condition = known?.textOrNull("etag")?.let { mapOf("if-none-match" to it) } ?: emptyMap()
        val onHeaders = { header: (String) -> String? ->
            etag = header("etag")
            asOf = header("date")?.let(::parseHttpDate) ?: clock.now()
        }
        val request = Content(content.deadline, null, content.query + proof, condition, onHeaders = onHeaders)
        try {
            val reply = core.request("get", path, token, request)
            keep(userId, name, jsonOf("data" to reply.data, "asOf" to asOf, "etag" to etag, "lang" to lang))
            return reply
        } catch (error: HomeportError) {
            // A 304 that is not sealed could come from an intermediary.
            if (known == null || condition.isEmpty() || !error.isGenuine || error.status != 304) throw error
            keep(userId, name, known.put("asOf", asOf))
            return Envelope(jsonOf("code" to "ok", "response" to known.get("data")))
        }
    }

    suspend fun <T> readKept(value: KeptValue<T>, lang: String?, read: suspend () -> T): Kept<T> {
        val userId = readUserId()
        val memory = load(userId)
        val refresh: suspend () -> Kept<T> = {
            val data = read()
            Kept(data, false, asOf(entry(load(userId), value.name)))
        }
        val entry = entry(memory, value.name)?.takeIf { it.opt("lang") == lang } ?: return refresh()
        val data = judge(value.name, entry, memory)?.let { attempt { value.from(it) } } ?: return refresh()
        val refreshed = core.loop.launch(refresh)
        return Kept(data, true, asOf(entry)) { core.loop.enter { refreshed.await() } }
    }

    /** Removes another user's kept values. If the storage fails they stay, but no other user sees them. */
    suspend fun forgetOthers(userId: String?) {
        attempt { if (userId == null || slot.read()?.contains("\"userId\":\"$userId\"") != true) slot.clear() }
    }

    /** Returns the value as it is valid now; null if there is none. */
    private suspend fun judge(name: String, entry: JSONObject, memory: JSONObject): Any? {
        val data = entry.get("data")
        if (name != "subscription") return data
        val userId = memory.textOrNull("userId")
        val proof = (data as? JSONObject)?.textOrNull("proof") ?: return null
        val claims = readProof(proof, userId ?: "", signingKeys) ?: return null
        // The device's clock may have been set back: use the latest time that is known to have passed.
        val elapsed = anchor?.let { (server, at) -> server + clock.elapsed() - at } ?: 0
        val seenAt = memory.getLong("seenAt")
        val at = listOf(clock.now(), seenAt, elapsed, claims.getLong("iat") * 1000).max()
        if (at - seenAt > 60_000) change(userId) { it.put("seenAt", at) }
        return attempt { applyClaims(data, claims, at) }
    }

    private suspend fun keep(userId: String?, name: String, entry: JSONObject) {
        val asOf = entry.getLong("asOf")
        anchor = asOf to clock.elapsed()
        change(userId) { memory -> memory.put("seenAt", asOf).getJSONObject("entries").put(name, entry) }
    }

    /** Changes the kept values, unless another user has signed in. */
    private suspend fun change(userId: String?, edit: (JSONObject) -> Unit) = changing.run {
        attempt {
            val memory = load(userId).also(edit)
            if (readUserId() == userId) slot.write(memory.toString())
            if (readUserId() != userId) slot.clear()
        }
    }

    private suspend fun readUserId(): String? = attempt { core.session.read() }?.userId
    private fun asOf(entry: JSONObject?) = Instant.ofEpochMilli(entry?.getLong("asOf") ?: clock.now())
    private fun entry(memory: JSONObject, name: String): JSONObject? =
        memory.getJSONObject("entries").optJSONObject(name)?.takeIf { it.has("data") && it.opt("asOf") is Number }

    /** Returns no entries for another user or server, or if the storage cannot be read. */
    private suspend fun load(userId: String?): JSONObject = parsed(attempt { slot.read() })?.takeIf {
        it.opt("baseUrl") == core.baseUrl && it.textOrNull("userId") == userId &&
            it.opt("entries") is JSONObject && it.opt("seenAt") is Number
    } ?: jsonOf(
        "baseUrl" to core.baseUrl, "userId" to (userId ?: JSONObject.NULL), "seenAt" to 0, "entries" to JSONObject(),
    )
}

/** The claims of a subscription's proof (JWS, ES256); null if it is not valid for this user. */
internal fun readProof(proof: String, userId: String, trustedKeys: List<String>?): JSONObject? = attempt {
    val (header, payload, signature) = proof.split('.')
    val head = JSONObject(String(fromBase64url(header)))
    val jwk = head.getJSONObject("jwk")
    check(head.opt("alg") == "ES256" && head.opt("typ") == "access+jwt")
    check(trustedKeys == null || thumbprint(jwk) in trustedKeys)
    // JCA expects the two numbers of a signature in DER.
    val raw = fromBase64url(signature).also { check(it.size == 64) }
    val numbers = listOf(raw.copyOf(32), raw.copyOfRange(32, 64)).map { BigInteger(1, it).toByteArray() }
        .fold(ByteArray(0)) { before, number -> before + byteArrayOf(2, number.size.toByte()) + number }
    val verifier = Signature.getInstance("SHA256withECDSA").apply { initVerify(publicKey(jwk)) }
    verifier.update("$header.$payload".toByteArray())
    check(verifier.verify(byteArrayOf(0x30, numbers.size.toByte()) + numbers))
    JSONObject(String(fromBase64url(payload)))
        .takeIf { it.opt("sub") == userId && it.opt("environment") == "production" }
}

/** The subscription as of [now] (ms): the access that the claims prove, and nothing that has ended. */
internal fun applyClaims(kept: JSONObject, claims: JSONObject, now: Long): JSONObject {
    val result = JSONObject(kept.toString())
    fun isOn(ends: JSONObject, name: String) = ends.has(name) && (ends.isNull(name) || ends.getLong(name) * 1000 > now)
    val ends = claims.getJSONObject("entitlements")
    for (entitlement in objects(result.get("entitlements"))) {
        val id = entitlement.getString("id")
        if (!entitlement.getBoolean("active") || !isOn(ends, id)) entitlement.put("active", false)
        else entitlement.put("expiresAt", if (ends.isNull(id)) null else "${Instant.ofEpochSecond(ends.getLong(id))}")
    }
    for (purchase in objects(result.get("subscriptions"))) {
        val end = purchase.textOrNull("effectiveEndAt")
        val hasEnded = end != null && Instant.parse(end).toEpochMilli() <= now
        if (hasEnded && purchase.opt("status") != "refunded") purchase.put("status", "expired")
    }
    val (proved, plan) = claims.optJSONObject("plan") to result.optJSONObject("plan")
    if (proved == null || plan == null || !isOn(proved, "exp"))
        return result.put("plan", JSONObject.NULL).put("limits", JSONObject.NULL)
    plan.put("_id", proved.get("id")).put("code", proved.get("code"))
    return result
}

// ---- Changes ----

/** All listeners share one connection. */
internal class ChangeStream(private val core: Core) {
    private val listeners = mutableListOf<(String) -> Unit>()
    /** Listeners that have not been called yet: a connection must be ready first. */
    private val newListeners = mutableListOf<(String) -> Unit>()
    private val kinds = listOf("subscription", "profile", "data", "settings")
    private val pause = Pause(core.loop)
    private var lastEventId: String? = null
    private var retryMs = 3_000L
    private var failures = 0
    private var isReady = false
    private var connection: Cancellation? = null
    private var stop: () -> Unit = {}

    fun add(listener: (String) -> Unit) {
        listeners.add(listener)
        if (listeners.size == 1) start()
        else if (isReady) kinds.forEach(listener)
        else newListeners.add(listener)
    }

    fun remove(listener: (String) -> Unit) {
        newListeners.remove(listener)
        if (listeners.remove(listener) && listeners.isEmpty()) stop()
    }

    private fun start() {
        var isStopped = false
        lastEventId = null
        val stopListening = core.authChanges.add { if (it.reason != AuthChangeReason.REFRESHED) restart() }
        stop = {
            isStopped = true
            stopListening()
            restart()
        }
        core.loop.launch {
            while (!isStopped) {
                val wakes = pause.wakes
                val stored = runCatching { core.session.read() }
                if (isStopped) break
                if (stored.isSuccess && stored.getOrNull() == null) {
                    if (pause.wakes == wakes) pause.run(null)
                    continue
                }
                // The storage may fail, for example while the phone is locked.
                if (stored.isFailure || runCatching { connect() }.isFailure) failures++
                if (!isStopped) pause.run(nextDelay())
            }
        }
    }

    private suspend fun connect() {
        val cancellation = Cancellation().also { connection = it }
        try {
            // The server sends something every 25 s: a longer silence means a lost connection.
            withDeadline(core.loop, cancellation, 60_000) { deadline ->
                val parse = eventParser(::receive)
                val onText = { text: String ->
                    if (!cancellation.isCancelled) {
                        deadline.restart(60_000)
                        parse(text)
                    }
                }
                core.withToken { token ->
                    val headers = lastEventId?.let { mapOf("last-event-id" to it) } ?: emptyMap()
                    val content = Content(deadline, headers = headers, onText = onText)
                    core.call("get", "/api/user/changes/v1", token, content)
                }
            }
        } finally {
            isReady = false
        }
    }

    private fun receive(event: Map<String, String>) {
        val isFirst = lastEventId == null
        // The stream is not sealed: an intermediary could send an id that is no valid header, or an endless delay.
        lastEventId = event["id"]?.takeIf { id -> id.length <= 1_000 && id.all { it in ' '..'~' } } ?: lastEventId
        retryMs = event["retry"]?.toLongOrNull()?.coerceIn(0, 3_600_000) ?: retryMs
        val name = event["event"]
        // The next connection finds out whether the session has really ended.
        if (name == null || name == "signed-out") return
        if (name != "ready") return listeners.toList().forEach { it(name) }
        failures = 0
        isReady = true
        val called = (if (isFirst) listeners else newListeners).toList()
        newListeners.clear()
        for (kind in kinds) called.forEach { it(kind) }
    }

    /** Reconnects without the state of the previous session. */
    private fun restart() {
        lastEventId = null
        failures = 0
        retryMs = 0
        connection?.cancel()
        pause.wake()
    }

    /** In ms, randomized so that apps do not all connect at once when the server restarts. */
    private fun nextDelay(): Long {
        val delay = min(retryMs * 2.0.pow(failures), max(60_000, retryMs).toDouble())
        if (retryMs == 0L) retryMs = 3_000
        return (delay * (0.25 + core.loop.random())).toLong()
    }
}

/** A wait that can be ended early. */
internal class Pause(private val loop: Loop) {
    /** How often it was ended early. */
    var wakes = 0
    private var end: () -> Unit = {}
    suspend fun run(ms: Long?) {
        val over = Pending<Unit>()
        val stopTimer = ms?.let { loop.schedule(it) { over.complete(Result.success(Unit)) } }
        end = {
            stopTimer?.invoke()
            over.complete(Result.success(Unit))
        }
        over.await()
    }
    fun wake() {
        wakes++
        end()
    }
}

/** Splits a stream of server-sent events, in pieces of any length, into the fields of each. */
internal fun eventParser(dispatch: (Map<String, String>) -> Unit): (String) -> Unit {
    var rest = ""
    return { text ->
        val blocks = (rest + text).split("\n\n")
        rest = blocks.last().takeIf { it.length <= 65_536 } ?: ""
        for (block in blocks.dropLast(1)) {
            val fields = block.split('\n').mapNotNull { Regex("^(\\w+): ?(.*)$").find(it)?.destructured }
            dispatch(fields.associate { (field, value) -> field to value })
        }
    }
}

// ---- Purchase queue ----

/** Keeps purchases on this device until their results are final. */
internal class PurchaseQueue(private val core: Core, private val slot: Slot) {
    private val results = Listeners<QueuedPurchaseResult>()
    /** Results that arrived while there was no listener. */
    private val undelivered = ConcurrentLinkedQueue<QueuedPurchaseResult>()
    private val rounds = Mutex()
    private val changing = Mutex()
    private var failures = 0
    private var checks = 0
    /** When each purchase was first not final, by the monotonic clock. */
    private val firstChecks = mutableMapOf<String, Long>()
    private var stopTimer: () -> Unit = {}

    fun start() {
        core.authChanges.add { if (it.reason == AuthChangeReason.SIGNED_IN) submit() }
        submit()
    }

    fun listen(listener: (QueuedPurchaseResult) -> Unit): () -> Unit {
        val stop = results.add(listener)
        core.loop.post { while (true) listener(undelivered.poll() ?: break) }
        return stop
    }

    suspend fun add(purchase: JSONObject) {
        val userId = core.session.read()?.userId ?: throw notSignedIn()
        change(userId) { queued -> queued.filter { "$it" != "$purchase" } + purchase }
        submit()
    }

    private fun submit() {
        core.loop.launch {
            rounds.run {
                val wait = try { submitAll() } catch (error: HomeportError) {
                    // Without a session, the next sign-in tries again.
                    if (error.code in setOf("unauthenticated", "conflict")) null
                    else error.retryAfter?.takeIf { it > 0 }?.coerceAtMost(3_600)?.times(1000) ?: retryDelay(failures++)
                }
                stopTimer()
                if (wait != null) stopTimer = core.loop.schedule(wait, ::submit)
            }
        }
    }

    /** Returns the ms until the next attempt; null if there is nothing to wait for. */
    private suspend fun submitAll(): Long? {
        val session = core.session.read()
        val userId = session?.userId ?: return null
        session.guestId?.let { move(it, userId) }
        var isUndecided = false
        for (purchase in load(userId).first) {
            val result = submitAs(userId, purchase)
            failures = 0
            if (!isFinal(purchase, result)) isUndecided = true
            else {
                val decided = QueuedPurchaseResult(submittedPurchase(purchase), result)
                if (results.isEmpty()) undelivered.add(decided) else results.notify(decided)
                change(userId) { queued -> queued.filter { "$it" != "$purchase" } }
            }
        }
        checks = if (isUndecided) checks + 1 else 0
        return if (isUndecided) 60_000 * min(1L shl min(checks - 1, 6), 60) else null
    }

    /** Google may not know a new purchase yet, and the server repeats its response for ten minutes. */
    private fun isFinal(purchase: JSONObject, result: PurchaseResult): Boolean {
        val now = core.loop.clock.elapsed()
        val isNew = now - firstChecks.getOrPut("$purchase") { now } < 600_000
        val isUnknown = isNew && purchase.opt("store") == "play_store" && result.code == "purchase_gone"
        return result.outcome != "checking" && result.outcome != "pending" && !isUnknown
    }

    private suspend fun submitAs(userId: String, purchase: JSONObject): PurchaseResult = try {
        core.run(null, core.timeout) { deadline ->
            core.withToken { token ->
                // The token must be this user's: a purchase must not be bound to another user.
                if (core.session.read()?.userId != userId) throw userChanged()
                val body = Body.json(jsonOf("purchases" to JSONArray().put(purchase)))
                core.call("post", PURCHASES, token, Content(deadline, body))
            }.one { PurchaseResult.from(it.getJSONArray("results").getJSONObject(0)) }
        }
    } catch (error: HomeportError) {
        // The server will never accept a purchase that it refused as invalid.
        val isRefused = error.isGenuine && error.status in 400..499 && error.status !in setOf(401, 408, 429)
        if (isRefused && error.code != "reply_invalid") PurchaseResult("refused", error.code) else throw error
    }

    /** Moves a guest's purchases to the account that the guest has signed in to. */
    private suspend fun move(guestId: String, userId: String) {
        for (purchase in load(guestId).first) {
            change(userId) { queued -> queued.filter { "$it" != "$purchase" } + purchase }
            change(guestId) { queued -> queued.filter { "$it" != "$purchase" } }
        }
    }

    private suspend fun change(userId: String, edit: (List<JSONObject>) -> List<JSONObject>) = changing.run {
        val (queued, others) = load(userId)
        slot.write(queue(userId, edit(queued)).put("others", JSONArray(others)).toString())
    }

    /** This user's queued purchases, and the queues of other users and servers. */
    private suspend fun load(userId: String): Pair<List<JSONObject>, List<JSONObject>> {
        val last = parsed(slot.read()) ?: JSONObject()
        val others = attempt { objects(last.remove("others")!!) }.orEmpty()
        val (own, rest) = (others + last).filter { purchases(it).isNotEmpty() }
            .partition { it.opt("baseUrl") == core.baseUrl && it.opt("userId") == userId }
        return own.flatMap(::purchases) to rest
    }

    private fun purchases(queue: JSONObject) = attempt { objects(queue.get("purchases")) }.orEmpty()
    private fun queue(userId: String, purchases: List<JSONObject>) =
        jsonOf("baseUrl" to core.baseUrl, "userId" to userId, "purchases" to JSONArray(purchases))
    private fun retryDelay(failures: Int) =
        (min(2_000 * 2.0.pow(failures), 60_000.0) * (0.5 + core.loop.random())).toLong()
    private fun submittedPurchase(json: JSONObject): SubmittedPurchase = when (json.opt("store")) {
        "app_store" -> AppStorePurchase.from(json)
        "stripe" -> StripePurchase.from(json)
        else -> PlayStorePurchase.from(json)
    }
}

// ---- Storage ----

/** Keeps strings on this device. Its functions may throw, and are called on one thread that may block. */
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

/** Keeps each item in a file in [folder], which is replaced atomically. */
class FileStorage(private val folder: File) : Storage {
    override fun getItem(key: String): String? = File(folder, key).let { if (it.exists()) it.readText() else null }
    override fun setItem(key: String, value: String) {
        folder.mkdirs()
        val draft = File(folder, "$key.new")
        draft.outputStream().use {
            it.write(value.toByteArray())
            it.fd.sync()
        }
        Files.move(draft.toPath(), File(folder, key).toPath(), ATOMIC_MOVE, REPLACE_EXISTING)
    }
    override fun removeItem(key: String) { Files.deleteIfExists(File(folder, key).toPath()) }
}

/**
 * Encrypts the items of another storage with AES-GCM; an undecryptable item counts as absent. On Android:
 * `EncryptedStorage(FileStorage(context.noBackupFilesDir)) { androidKey { alias -> KeyGenParameterSpec.Builder(alias,
 * PURPOSE_ENCRYPT or PURPOSE_DECRYPT).setBlockModes(BLOCK_MODE_GCM).setEncryptionPaddings(ENCRYPTION_PADDING_NONE)
 * .build() } }`.
 */
class EncryptedStorage(private val storage: Storage, loadKey: () -> SecretKey) : Storage {
    private val key by lazy(loadKey)
    override fun getItem(key: String): String? {
        val bytes = storage.getItem(key)?.let { attempt { fromBase64url(it) } }?.takeIf { it.size >= 28 } ?: return null
        val cipher = cipher(Cipher.DECRYPT_MODE, GCMParameterSpec(128, bytes, 0, 12))
        // Encrypted on another device, or with a key that the phone has lost. Any other error may be temporary.
        return try { String(cipher.doFinal(bytes, 12, bytes.size - 12)) } catch (_: AEADBadTagException) { null }
    }
    override fun setItem(key: String, value: String) {
        val cipher = cipher(Cipher.ENCRYPT_MODE, null)
        storage.setItem(key, base64url(cipher.iv + cipher.doFinal(value.toByteArray())))
    }
    override fun removeItem(key: String) = storage.removeItem(key)
    private fun cipher(mode: Int, parameters: AlgorithmParameterSpec?) =
        Cipher.getInstance("AES/GCM/NoPadding").apply { init(mode, key, parameters) }
}

/** The key of this app in Android's Keystore; [describe] receives the alias, and describes a new key. */
fun androidKey(alias: String = "homeport", describe: (String) -> AlgorithmParameterSpec): SecretKey {
    val keys = KeyStore.getInstance("AndroidKeyStore").apply { load(null) }
    // A key that the phone has lost is replaced. Some phones still list it, and fail when it is used.
    val known = try {
        (keys.getKey(alias, null) as SecretKey?)
            ?.also { Cipher.getInstance("AES/GCM/NoPadding").init(Cipher.ENCRYPT_MODE, it) }
    } catch (error: GeneralSecurityException) { if (isKeyLost(error)) null else throw error }
    return known
        ?: KeyGenerator.getInstance("AES", "AndroidKeyStore").apply { init(describe(alias)) }.generateKey()
}

/** A phone that is locked or busy fails differently: its key must be kept. */
private fun isKeyLost(error: Throwable) = generateSequence(error) { it.cause }.any {
    it is UnrecoverableKeyException || it.javaClass.simpleName == "KeyPermanentlyInvalidatedException" ||
        "Invalid key blob" in it.message.orEmpty()
}

/** Reads and writes one key of a storage. Throws `storage_failed` if the storage fails. */
internal class Slot(private val storage: Storage, private val key: String, private val loop: Loop) {
    suspend fun read(): String? = use { storage.getItem(key) }
    suspend fun write(value: String) = use { storage.setItem(key, value) }
    suspend fun clear() = use { storage.removeItem(key) }
    private suspend fun <T> use(work: () -> T): T = try { loop.blocking(disk, work) } catch (cause: Exception) {
        throw HomeportError(0, "storage_failed", "The storage of this device cannot be used.", cause = cause)
    }
}

// ---- Helpers ----

internal typealias Query = Map<String, Any?>
internal typealias Headers = Map<String, String>

private const val SUBSCRIPTION = "/api/user/subscription/v1"
private const val PLANS = "/api/user/pricing_plans/v1"
private const val PROFILE = "/api/user/profile/v1"
private const val ATTACHMENTS = "/api/user/attachments/v1"
private const val DATA = "/api/user/data/v1"
private const val PURCHASES = "/api/user/purchases/v1"
private const val CONTENT_VERSION = "/api/user/content_version/v1"
private const val PASSKEYS = "/api/auth/passkey/v1"
private const val PASSWORD = "/api/auth/password/v1"
private const val EMAIL = "/api/auth/email/v1"
private const val EMAIL_CODE = "/api/auth/email_code/v1"
private const val TWO_FACTOR = "/api/auth/two_factor/v1"
private const val SESSIONS = "/api/auth/sessions/v1"
private const val JOSE = "application/jose"
private const val DELETION_CONFIRMED = "confirmed"

private inline fun <T> attempt(work: () -> T): T? = try { work() } catch (_: Exception) { null }
/** Leaves out null members. */
private fun jsonOf(vararg members: Pair<String, Any?>) = JSONObject(members.toMap().filterValues { it != null })
private fun JSONObject.textOrNull(name: String): String? = opt(name) as? String
private fun parsed(text: String?) = runCatching { JSONTokener(text).nextValue() as? JSONObject }.getOrNull()
private fun objects(array: Any) = (array as JSONArray).let { all -> List(all.length()) { all.getJSONObject(it) } }
private fun <T> decode(from: () -> T): T = try { from() } catch (cause: Exception) {
    throw HomeportError(200, "reply_invalid", "The server's response cannot be read.", cause = cause)
}
private fun randomBytes(size: Int) = ByteArray(size).also(SecureRandom()::nextBytes)
private fun randomHex() = randomBytes(16).joinToString("") { "%02x".format(it) }
private fun sha256(bytes: ByteArray): ByteArray = MessageDigest.getInstance("SHA-256").digest(bytes)
internal fun base64url(bytes: ByteArray): String = Base64.getUrlEncoder().withoutPadding().encodeToString(bytes)
internal fun fromBase64url(text: String): ByteArray = Base64.getUrlDecoder().decode(text)
private fun parseHttpDate(text: String): Long? =
    attempt { ZonedDateTime.parse(text, RFC_1123_DATE_TIME).toInstant().toEpochMilli() }
/** Keyboards and clipboards put spaces and invisible characters around an address. */
private fun trimmed(address: String) = address.replace(Regex("^[\\s\\p{Z}\\p{Cf}]+|[\\s\\p{Z}\\p{Cf}]+$"), "")
private fun deviceModel() = attempt { Class.forName("android.os.Build").getField("MODEL").get(null) as String }
/** Percent-encodes like JavaScript's `encodeURIComponent`. */
private fun encoded(text: String) = text.toByteArray().joinToString("") { byte ->
    val char = byte.toInt().toChar()
    if (char.code < 128 && (char.isLetterOrDigit() || char in "-_.!~*'()")) "$char" else "%%%02X".format(byte)
}
/** The headers that describe the device and the app. Headers are ASCII, and device names can contain any character. */
private fun commonHeaders(app: InstalledApp?, device: String?, language: String?): Headers = listOf(
    "timezone" to ZoneId.systemDefault().id, "device" to device?.let { encoded(it.replace(Regex("\\p{Cs}"), "")) },
    "app-platform" to app?.platform, "app-version" to app?.version, "device-id" to app?.deviceId?.let(::encoded),
    "accept-language" to (language ?: Locale.getDefault().toLanguageTag()).replace(Regex("[^ -~]"), ""),
).mapNotNull { (name, value) -> if (value.isNullOrEmpty()) null else name to value }.toMap()
