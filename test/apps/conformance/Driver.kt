/** Runs one Kotlin client for the scenarios: commands on stdin, answers and events on stdout, as JSON lines. */
package homeport

import java.io.File
import java.io.IOException
import java.time.Instant
import java.time.ZoneOffset
import java.time.format.DateTimeFormatter
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.CountDownLatch
import java.util.concurrent.TimeUnit
import kotlin.coroutines.AbstractCoroutineContextElement
import kotlin.coroutines.Continuation
import kotlin.coroutines.ContinuationInterceptor
import kotlin.coroutines.startCoroutine
import kotlin.random.Random
import kotlin.system.exitProcess
import kotlin.time.Duration.Companion.milliseconds
import org.json.JSONArray
import org.json.JSONObject

private val clock = VirtualClock()
private val faults = Faults()
private val cancellations = ConcurrentHashMap<Int, Cancellation>()
private val listening = mutableMapOf<String, () -> Unit>()
private lateinit var api: Homeport
private var app: InstalledApp? = null

fun main() {
    // java.net.http would repeat a read if the connection ends, but the scenarios count requests.
    System.setProperty("jdk.httpclient.redirects.retrylimit", "1")
    while (true) handle(JSONObject(readlnOrNull() ?: break))
    exitProcess(0)
}

private fun handle(command: JSONObject) {
    val id = command.getInt("id")
    when (command.getString("do")) {
        "call" -> startCall(id, command)
        else -> answer(id, runCatching { run(command) })
    }
}

private fun run(command: JSONObject): Any {
    when (val name = command.getString("do")) {
        "create" -> create(command)
        "cancel" -> cancellations[command.getInt("call")]?.cancel()
        "advance" -> clock.advance(command.getLong("ms"))
        "setClock" -> clock.wall = command.getLong("now")
        "listen" -> listen(command.getString("to"))
        "unlisten" -> listening.remove(command.getString("to"))?.invoke()
        "failStorage" -> faults.failing = command.getString("on")
        "dieAtWrite" -> faults.death = command
        "seal" -> return seal(command)
        "open" -> return open(command)
        else -> throw IllegalArgumentException("There is no command $name.")
    }
    return true
}

private fun seal(command: JSONObject): JSONObject {
    val content = command.getJSONObject("request")
    val jwk = command.getJSONObject("jwk")
    val bytes = fromBase64url(content.getString("body"))
    val body = content.text("contentType")?.let { Body.of(it, bytes) }
    val deadline = Deadline(1, Loop(Platform())) {}
    val request = Request(
        content.getString("method"), content.getString("target"), emptyMap(), content.text("token"),
        Content(deadline, body),
    )
    val server = ServerKey(jwk.getString("kid"), publicKey(jwk))
    val sealed = seal(request, bytes, server, command.getLong("now"), base64url(ByteArray(16).also(Random::nextBytes)))
    return JSONObject().put("message", sealed.message).put("jti", sealed.jti)
        .put("replyKey", base64url(sealed.replyKey))
}

private fun open(command: JSONObject): JSONObject {
    val sealed = Sealed("", command.getString("jti"), fromBase64url(command.getString("replyKey")))
    val reply = openReply(Reply(command.getInt("status"), command.getString("message"), { null }), sealed)
    return JSONObject().put("body", base64url(reply.text.toByteArray()))
}

private fun create(command: JSONObject) {
    val options = command.optJSONObject("options") ?: JSONObject()
    val texts = { name: String ->
        options.optJSONArray(name)?.let { list -> List(list.length()) { list.getString(it) } }
    }
    clock.wall = command.getLong("now")
    val storage = faults.wrap(FileStorage(File(command.getString("folder"))))
    app = options.text("version")?.let { version ->
        val platform = options.text("platform") ?: "android"
        InstalledApp(version, options.long("buildNumber"), options.text("deviceId"), platform)
    }
    api = Homeport(
        command.getString("baseUrl"),
        storage,
        app = app,
        device = options.text("device"),
        language = options.text("language"),
        env = options.text("env"),
        pinnedKeys = texts("pinnedKeys"),
        signingKeys = texts("signingKeys"),
        timeout = (options.long("timeout") ?: 30_000).milliseconds,
        listenerExecutor = { it.run() },
        onSignedOut = { emit("signedOut") },
        platform = Platform(clock = clock, random = { 0.5 }),
    )
}

private fun listen(to: String) {
    listening[to] = when (to) {
        "authChange" -> api.onAuthChange { change ->
            val reason = change.reason.name.lowercase()
            emit("authChange", "reason" to reason, "isSignedIn" to change.isSignedIn, "userId" to change.userId)
        }
        "change" -> api.onChange { emit("change", "kind" to it.kind) }
        "purchaseResult" -> api.onPurchaseResult {
            emit("purchaseResult", "purchase" to it.purchase.toJson(), "result" to it.result.toJson())
        }
        else -> throw IllegalArgumentException("There are no listeners of $to.")
    }
}

private fun startCall(id: Int, command: JSONObject) {
    val cancellation = Cancellation()
    cancellations[id] = cancellation
    val args = command.optJSONObject("args") ?: JSONObject()
    val timeout = command.long("timeout")
    val api = if (timeout == null) api.with(cancellation) else api.with(cancellation, timeout.milliseconds)
    val work: suspend () -> Any? = { call(api, command.getString("fn"), args) }
    work.startCoroutine(Continuation(Direct) { answer(id, it) })
}

/** Resumes on the client's thread, so that answers and events keep their order. */
private object Direct : AbstractCoroutineContextElement(ContinuationInterceptor), ContinuationInterceptor {
    override fun <T> interceptContinuation(continuation: Continuation<T>) = continuation
}

private suspend fun call(api: Homeport, fn: String, args: JSONObject): Any? {
    val text = { name: String -> args.getString(name) }
    val optional = { name: String -> args.text(name) }
    val data = { args.getJSONObject("data") }
    val credential = { args.getJSONObject("credential").toString() }
    return when (fn) {
        "isSignedIn" -> api.isSignedIn()
        "accessToken" -> api.accessToken()
        "refresh" -> api.refresh()
        "register" -> api.register(text("email"), text("password"), optional("name"), optional("invitation"))
        "login" -> api.login(text("email"), text("password"))
        "passTwoFactor" -> api.passTwoFactor(text("challengeToken"), text("code"))
        "requestEmailCode" -> api.requestEmailCode(text("email"))
        "signInWithEmailCode" ->
            api.signInWithEmailCode(text("requestToken"), text("code"), optional("name"))
        "signInSocially" -> api.signInSocially(SocialLogin.from(args))
        "startPasskeySignIn" -> JSONObject(api.startPasskeySignIn())
        "signInWithPasskey" -> api.signInWithPasskey(credential())
        "startAsGuest" -> api.startAsGuest()
        "logout" -> message(api.logout())
        "readProfile" -> api.readProfile()
        "changeProfile" -> api.changeProfile(ProfileChanges.from(args))
        "deleteProfile" -> api.deleteProfile().let { deleted ->
            message(deleted.message).put("activeSubscriptions", json(deleted.activeSubscriptions))
        }
        "exportData" -> api.exportData()
        "listSessions" -> api.listSessions()
        "endSession" -> message(api.endSession(text("id")))
        "changePassword" ->
            message(api.changePassword(text("currentPassword"), text("newPassword"), optional("code")))
        "forgotPassword" -> message(api.forgotPassword(text("email")))
        "resetPassword" -> message(api.resetPassword(text("token"), text("newPassword")))
        "verifyEmail" -> message(api.verifyEmail(text("token")))
        "resendVerification" -> message(api.resendVerification())
        "changeEmail" -> message(api.changeEmail(text("email"), optional("password"), optional("code")))
        "cancelEmailChange" -> message(api.cancelEmailChange(text("token")))
        "unlinkProvider" -> message(api.unlinkProvider(text("provider"), optional("code")))
        "setUpTwoFactor" -> api.setUpTwoFactor(optional("password"))
        "confirmTwoFactor" -> api.confirmTwoFactor(text("code"))
        "renewRecoveryCodes" -> api.renewRecoveryCodes(text("code"), optional("password"))
        "disableTwoFactor" -> message(api.disableTwoFactor(text("code"), optional("password")))
        "listPasskeys" -> api.listPasskeys()
        "startPasskeyRegistration" ->
            JSONObject(api.startPasskeyRegistration(optional("password"), optional("code")))
        "addPasskey" -> api.addPasskey(credential(), optional("name"))
        "renamePasskey" -> api.renamePasskey(text("id"), text("name"))
        "removePasskey" -> message(api.removePasskey(text("id"), optional("code")))
        "readAppSettings" -> api.readAppSettings()
        "readPricingPlans" -> api.readPricingPlans(optional("lang"))
        "readCurrencyRates" -> api.readCurrencyRates()
        "readContentVersions" -> api.readContentVersions()
        "readFaqs" -> api.readFaqs(optional("lang"))
        "readKept" -> readKept(api, text("name"), optional("lang"))
        "uploadAttachments" -> upload(api, args)
        "listAttachments" -> api.listAttachments(args.long("limit")?.toInt(), optional("after")).let {
            JSONObject().put("attachments", json(it.attachments)).put("next", it.next)
        }
        "readAttachment" -> api.readAttachment(text("key"))
        "deleteAttachment" -> message(api.deleteAttachment(text("key")))
        "readData" -> api.readData()
        "replaceData" -> api.replaceData(data(), optional("version"))
        "patchData" -> api.patchData(data(), optional("version"))
        "readSubscription" -> {
            val proof = args.opt("proof") as? Boolean
            api.readSubscription(optional("environment"), optional("lang"), proof)
        }
        "readUsage" -> api.readUsage()
        "submitPurchases" -> {
            val list = args.getJSONArray("purchases")
            val purchases = List(list.length()) { purchase(list.getJSONObject(it)) }
            api.submitPurchases(purchases, args.opt("takeOver") as? Boolean, optional("environment"))
        }
        "queuePurchase" -> api.queuePurchase(purchase(args.getJSONObject("purchase")))
        "startCheckout" -> api.startCheckout(CheckoutRequest.from(args))
        "createPortalLink" -> JSONObject().put("url", api.createPortalLink(PortalRequest.from(args)))
        "findRate" -> findRate(CurrencyRates.from(args.getJSONObject("rates")), text("currency"))
        "isUpdateRequired" -> isUpdateRequired(AppSettings.from(args.getJSONObject("settings")), installedApp())
        "isUpdateAvailable" -> isUpdateAvailable(AppSettings.from(args.getJSONObject("settings")), installedApp())
        else -> throw IllegalArgumentException("There is no function $fn.")
    }
}

/** The app with which the client was created. */
private fun installedApp() = app ?: throw IllegalArgumentException("The client was created without a version.")

private suspend fun readKept(api: Homeport, name: String, lang: String?): JSONObject {
    val value: KeptValue<out Any> = when (name) {
        "subscription" -> KeptValue.subscription
        "profile" -> KeptValue.profile
        "settings" -> KeptValue.settings
        "plans" -> KeptValue.plans
        "rates" -> KeptValue.rates
        else -> KeptValue.faqs
    }
    val kept = api.readKept(value, lang)
    return JSONObject().put("data", json(kept.data)).put("isStale", kept.isStale).put("asOf", json(kept.asOf))
}

private suspend fun upload(api: Homeport, args: JSONObject): List<Attachment> {
    val files = args.getJSONArray("files").let { list ->
        List(list.length()) { at ->
            val file = list.getJSONObject(at)
            UploadFile(File(file.getString("path")), file.text("type"), file.getString("name"))
        }
    }
    val key = args.text("idempotencyKey")
    val compression = args.opt("compression") as? Boolean
    val report = { progress: Progress -> emit("progress", "sent" to progress.sent, "total" to progress.total) }
    val type = args.getString("type")
    val targetType = args.text("targetType")
    return if (key == null) api.uploadAttachments(type, files, targetType, compression, onProgress = report)
    else api.uploadAttachments(type, files, targetType, compression, key, report)
}

private fun purchase(json: JSONObject): SubmittedPurchase = when (json.getString("store")) {
    "app_store" -> AppStorePurchase.from(json)
    "stripe" -> StripePurchase.from(json)
    else -> PlayStorePurchase.from(json)
}

private fun message(text: String): JSONObject = JSONObject().put("message", text)

private val TIME = DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss.SSS'Z'").withZone(ZoneOffset.UTC)

private fun json(value: Any?): Any = when (value) {
    null, Unit -> JSONObject.NULL
    is SignInResult.SignedIn -> json(value.session)
    is SignInResult.TwoFactor -> json(value.challenge)
    is List<*> -> JSONArray(value.map(::json))
    is Instant -> TIME.format(value)
    is Boolean, is Number, is String, is JSONObject, is JSONArray -> value
    else -> value.javaClass.getMethod("toJson").invoke(value)
}

private fun answer(id: Int, result: Result<Any?>) {
    val line = JSONObject().put("id", id)
    result.onSuccess { line.put("ok", json(it)) }.onFailure { line.put("error", describe(it)) }
    print(line)
}

private fun describe(error: Throwable): JSONObject {
    if (error !is HomeportError) return JSONObject().put("code", "driver").put("message", error.stackTraceToString())
    val details = error.details.map { JSONObject().put("path", it.path).put("message", it.message) }
    return JSONObject().put("status", error.status).put("code", error.code).put("message", error.message)
        .put("details", JSONArray(details)).put("requestId", error.requestId).put("retryAfter", error.retryAfter)
}

private fun emit(event: String, vararg members: Pair<String, Any?>) {
    val line = JSONObject().put("event", event)
    members.forEach { (name, value) -> line.put(name, value) }
    print(line)
}

private fun print(line: JSONObject) = synchronized(System.out) {
    println(line)
    System.out.flush()
}

private fun JSONObject.text(name: String): String? = opt(name) as? String

private fun JSONObject.long(name: String): Long? = (opt(name) as? Number)?.toLong()

/** Time moves only when the runner advances it. */
private class VirtualClock : Clock {
    private class Timer(val at: Long, val work: () -> Unit)

    @Volatile var wall = 0L
    @Volatile private var sinceStart = 0L
    private val timers = mutableListOf<Timer>()

    override fun now() = wall
    override fun elapsed() = sinceStart

    override fun schedule(ms: Long, work: () -> Unit): () -> Unit {
        val timer = Timer(sinceStart + ms, work)
        synchronized(timers) { timers.add(timer) }
        emit("timer", "ms" to ms)
        return { synchronized(timers) { timers.remove(timer) } }
    }

    fun advance(ms: Long) {
        val end = sinceStart + ms
        while (true) {
            val next = synchronized(timers) {
                timers.filter { it.at <= end }.minByOrNull { it.at }?.also { timers.remove(it) }
            } ?: break
            moveTo(maxOf(next.at, sinceStart))
            next.work()
            settle()
        }
        moveTo(end)
    }

    private fun moveTo(at: Long) {
        wall += at - sinceStart
        sinceStart = at
    }

    /** Lets the client finish its work without the network, so that timers it sets are due in the same step. */
    private fun settle() {
        repeat(3) {
            val done = CountDownLatch(1)
            val work: suspend () -> Boolean = { api.isSignedIn() }
            work.startCoroutine(Continuation(Direct) { done.countDown() })
            done.await(5, TimeUnit.SECONDS)
        }
    }
}

/** Storage that fails, or ends the process, at the runner's command. */
private class Faults {
    @Volatile var failing = "none"
    @Volatile var death: JSONObject? = null
    private val writes = mutableMapOf<String, Int>()

    fun wrap(storage: Storage) = object : Storage {
        override fun getItem(key: String): String? {
            if (failing == "read") throw IOException("The runner made reads fail.")
            return storage.getItem(key)
        }

        override fun setItem(key: String, value: String) = write { dying(key) { storage.setItem(key, value) } }

        override fun removeItem(key: String) = write { storage.removeItem(key) }
    }

    private fun write(work: () -> Unit) {
        if (failing == "write") throw IOException("The runner made writes fail.")
        work()
    }

    private fun dying(key: String, work: () -> Unit) {
        val plan = death?.takeIf { it.getString("key") == key } ?: return work()
        val count = (writes[key] ?: 0) + 1
        writes[key] = count
        val isLast = count == (plan.long("n") ?: 1).toInt()
        if (isLast && plan.getString("when") == "before") Runtime.getRuntime().halt(9)
        work()
        if (isLast) Runtime.getRuntime().halt(9)
    }
}
