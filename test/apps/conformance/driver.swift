// The driver of the Swift client: commands on stdin, answers and events on stdout, as lines of JSON.
import Foundation
#if canImport(CryptoKit)
import CryptoKit
#else
import Crypto
#endif

typealias Args = [String: JSONValue]

/// Virtual time: only the command `advance` moves `elapsed`.
final class VirtualTime: @unchecked Sendable {
    private struct Timer {
        let id: Int
        let due: Double
        let run: @Sendable () -> Void
    }

    private let lock = NSLock()
    private var timers: [Timer] = []
    private var count = 0
    private var elapsed = 0.0
    private var clockAtZero = 0.0

    var platform: HomeportPlatform {
        var platform = HomeportPlatform()
        platform.now = { [self] in lock.withLock { clockAtZero + elapsed } }
        platform.elapsed = { [self] in lock.withLock { elapsed } }
        platform.random = { 0.5 }
        platform.schedule = { [self] ms, run in
            let id = lock.withLock {
                count += 1
                timers.append(Timer(id: count, due: elapsed + ms, run: run))
                return count
            }
            emit(["event": .string("timer"), "ms": .number(ms)])
            return { self.lock.withLock { self.timers.removeAll { $0.id == id } } }
        }
        return platform
    }

    func set(now: Double) { lock.withLock { clockAtZero = now - elapsed } }

    /// Fires due timers in order; the work of each timer runs before the next one fires.
    func advance(_ ms: Double) async {
        let end = lock.withLock { elapsed + ms }
        while let timer = takeNext(until: end) {
            timer.run()
            await settle()
        }
        lock.withLock { elapsed = end }
        await settle()
    }

    private func takeNext(until end: Double) -> Timer? {
        lock.withLock {
            let due = timers.filter { $0.due <= end }
            guard let next = due.min(by: { ($0.due, $0.id) < ($1.due, $1.id) }) else { return nil }
            timers.removeAll { $0.id == next.id }
            elapsed = max(elapsed, next.due)
            return next
        }
    }

    private func settle() async {
        for _ in 0..<20 {
            await Task { @HomeportActor in }.value
            await Task.yield()
        }
    }
}

/// One file per key, replaced atomically. Fails, or ends the process, on command.
final class FolderStorage: HomeportStorage, @unchecked Sendable {
    private let files: FileStorage
    private let lock = NSLock()
    private var failing = "none"
    private var death: (key: String, when: String, n: Int)?

    init(folder: String) { files = FileStorage(folder: URL(fileURLWithPath: folder)) }

    func fail(on operation: String) { lock.withLock { failing = operation } }
    func die(atWrite key: String, when: String, n: Int) { lock.withLock { death = (key, when, n) } }

    func getItem(_ key: String) throws -> String? {
        try check("read")
        return try files.getItem(key)
    }

    func setItem(_ key: String, _ value: String) throws {
        try check("write")
        let dies: String? = lock.withLock {
            guard death?.key == key else { return nil }
            death?.n -= 1
            return death?.n == 0 ? death?.when : nil
        }
        // Not `exit`, which waits for the read from stdin.
        if dies == "before" { _exit(9) }
        try files.setItem(key, value)
        if dies != nil { _exit(9) }
    }

    func removeItem(_ key: String) throws {
        try check("write")
        try files.removeItem(key)
    }

    private func check(_ operation: String) throws {
        if lock.withLock({ failing == operation }) { throw CocoaError(.fileReadNoPermission) }
    }
}

@main
struct Driver {
    static func main() async {
        let driver = ClientDriver()
        while let line = readLine() {
            guard let command = try? parse(line), let id = command["id"] else { continue }
            // Commands start in order, and run up to where they have to wait.
            await driver.begin(command, id)
        }
        exit(0)
    }
}

@HomeportActor
final class ClientDriver {
    private let time = VirtualTime()
    private var storage: FolderStorage!
    private var client: Homeport!
    private var calls: [Double: Task<Void, Never>] = [:]
    private var listeners: [String: @Sendable () -> Void] = [:]

    nonisolated init() {}

    func begin(_ command: Args, _ id: JSONValue) {
        let task = Task {
            do {
                emit(["id": id, "ok": try await perform(command)])
            } catch {
                emit(["id": id, "error": describe(error)])
            }
        }
        if command["do"] == .string("call") { calls[id.number ?? 0] = task }
    }

    private func perform(_ command: Args) async throws -> JSONValue {
        let text = { (name: String) in command[name]?.string ?? "" }
        let number = { (name: String) in command[name]?.number ?? 0 }
        switch text("do") {
        case "create":
            create(text("baseUrl"), text("folder"), number("now"), command["options"]?.object ?? [:])
        case "call":
            let timeout = command["timeout"]?.number.map { $0 / 1000 }
            return try await Homeport.$timeout.withValue(timeout) {
                try await call(text("fn"), command["args"]?.object ?? [:])
            }
        case "cancel": calls[number("call")]?.cancel()
        case "advance": await time.advance(number("ms"))
        case "setClock": time.set(now: number("now"))
        case "listen": listen(to: text("to"))
        case "unlisten": listeners.removeValue(forKey: text("to"))?()
        case "failStorage": storage.fail(on: text("on"))
        case "dieAtWrite":
            storage.die(atWrite: text("key"), when: text("when"), n: Int(command["n"]?.number ?? 1))
        case "seal": return try seal(command)
        case "open": return try open(command)
        default: throw CocoaError(.featureUnsupported)
        }
        return .bool(true)
    }

    private func create(_ baseUrl: String, _ folder: String, _ now: Double, _ options: Args) {
        let text = { (name: String) in options[name]?.string }
        storage = FolderStorage(folder: folder)
        time.set(now: now)
        client = Homeport(
            baseUrl: baseUrl,
            app: InstalledApp(
                platform: text("platform") ?? "ios", version: text("version") ?? "1.0.0",
                buildNumber: options["buildNumber"]?.number.map { Int($0) }, deviceId: text("deviceId")),
            env: text("env") ?? "test", pinnedKeys: options["pinnedKeys"]?.strings,
            signingKeys: options["signingKeys"]?.strings, storage: storage, device: text("device"),
            language: text("language"), timeout: options["timeout"]?.number.map { $0 / 1000 } ?? 30,
            onSignedOut: { emit(["event": .string("signedOut")]) }, platform: time.platform)
    }

    private func listen(to: String) {
        switch to {
        case "authChange":
            listeners[to] = client.onAuthChange {
                emit([
                    "event": .string(to), "reason": .string($0.reason.rawValue), "isSignedIn": .bool($0.isSignedIn),
                    "userId": $0.userId.map { .string($0) } ?? .null,
                ])
            }
        case "change": listeners[to] = client.onChange { emit(["event": .string(to), "kind": .string($0.kind)]) }
        default:
            listeners[to] = client.onPurchaseResult {
                emit([
                    "event": .string(to), "purchase": (try? json($0.purchase)) ?? .null,
                    "result": (try? json($0.result)) ?? .null,
                ])
            }
        }
    }

    private func call(_ fn: String, _ args: Args) async throws -> JSONValue {
        let text = { (name: String) in args[name]?.string }
        func need(_ name: String) throws -> String {
            guard let text = args[name]?.string else { throw CocoaError(.keyValueValidation) }
            return text
        }
        func value<T: Decodable>(_ name: String, _ type: T.Type = T.self) throws -> T { try model(args[name] ?? .null) }
        switch fn {
        case "isSignedIn": return .bool(try await client.isSignedIn())
        case "accessToken": return .string(try await client.accessToken())
        case "register":
            return try json(
                await client.register(
                    email: need("email"), password: need("password"), name: text("name"),
                    invitation: text("invitation")))
        case "login": return try json(await client.login(email: need("email"), password: need("password")))
        case "passTwoFactor":
            return try json(await client.passTwoFactor(challengeToken: need("challengeToken"), code: need("code")))
        case "signInSocially": return try json(await client.signInSocially(model(.object(args))))
        case "requestEmailCode": return try json(await client.requestEmailCode(email: need("email")))
        case "signInWithEmailCode":
            return try json(
                await client.signInWithEmailCode(
                    requestToken: need("requestToken"), code: need("code"), name: text("name")))
        case "startPasskeySignIn": return try parseValue(await client.startPasskeySignIn())
        case "signInWithPasskey":
            return try json(await client.signInWithPasskey(credential: jsonText(args["credential"] ?? .null)))
        case "listPasskeys": return try json(await client.listPasskeys())
        case "startPasskeyRegistration":
            return try parseValue(
                await client.startPasskeyRegistration(password: text("password"), code: text("code")))
        case "addPasskey":
            return try json(
                await client.addPasskey(credential: jsonText(args["credential"] ?? .null), name: text("name")))
        case "renamePasskey": return try json(await client.renamePasskey(id: need("id"), name: need("name")))
        case "removePasskey": return try json(await client.removePasskey(id: need("id"), code: text("code")))
        case "startAsGuest": return try json(await client.startAsGuest())
        case "refresh":
            try await client.refresh()
            return .null
        case "logout": return try json(await client.logout())
        case "listSessions": return try json(await client.listSessions())
        case "endSession": return try json(await client.endSession(id: need("id")))
        case "changePassword":
            return try json(
                await client.changePassword(
                    currentPassword: need("currentPassword"), newPassword: need("newPassword"), code: text("code")))
        case "forgotPassword": return try json(await client.forgotPassword(email: need("email")))
        case "resetPassword":
            return try json(await client.resetPassword(token: need("token"), newPassword: need("newPassword")))
        case "verifyEmail": return try json(await client.verifyEmail(token: need("token")))
        case "resendVerification": return try json(await client.resendVerification())
        case "changeEmail":
            return try json(
                await client.changeEmail(password: text("password"), email: need("email"), code: text("code")))
        case "cancelEmailChange": return try json(await client.cancelEmailChange(token: need("token")))
        case "unlinkProvider":
            return try json(await client.unlinkProvider(provider: need("provider"), code: text("code")))
        case "setUpTwoFactor": return try json(await client.setUpTwoFactor(password: text("password")))
        case "confirmTwoFactor": return try json(await client.confirmTwoFactor(code: need("code")))
        case "renewRecoveryCodes":
            return try json(await client.renewRecoveryCodes(password: text("password"), code: need("code")))
        case "disableTwoFactor":
            return try json(await client.disableTwoFactor(password: text("password"), code: need("code")))
        case "readProfile": return try json(await client.readProfile())
        case "changeProfile": return try json(await client.changeProfile(model(.object(args))))
        case "deleteProfile": return try json(await client.deleteProfile())
        case "exportData": return try json(await client.exportData())
        case "readData": return try json(await client.readData())
        case "replaceData":
            return try json(await client.replaceData(args["data"]?.object ?? [:], version: text("version")))
        case "patchData":
            return try json(await client.patchData(args["data"]?.object ?? [:], version: text("version")))
        case "uploadAttachments": return try await upload(args)
        case "listAttachments":
            let limit = args["limit"]?.number.map { Int($0) }
            return try json(await client.listAttachments(limit: limit, after: text("after")))
        case "readAttachment": return try json(await client.readAttachment(key: need("key")))
        case "deleteAttachment": return try json(await client.deleteAttachment(key: need("key")))
        case "readSubscription":
            return try json(
                await client.readSubscription(
                    environment: text("environment"), proof: args["proof"].map { $0 == .bool(true) },
                    lang: text("lang")))
        case "readUsage": return try json(await client.readUsage())
        case "submitPurchases":
            return try json(
                await client.submitPurchases(
                    value("purchases"), takeOver: args["takeOver"].map { $0 == .bool(true) },
                    environment: text("environment")))
        case "queuePurchase":
            try await client.queuePurchase(value("purchase"))
            return .null
        case "startCheckout": return try json(await client.startCheckout(model(.object(args))))
        case "createPortalLink": return try json(await client.createPortalLink(model(.object(args))))
        case "readAppSettings": return try json(await client.readAppSettings())
        case "readPricingPlans": return try json(await client.readPricingPlans(lang: text("lang")))
        case "readCurrencyRates": return try json(await client.readCurrencyRates())
        case "readContentVersions": return try json(await client.readContentVersions())
        case "readFaqs": return try json(await client.readFaqs(lang: text("lang")))
        case "readKept": return try await readKept(need("name"), lang: text("lang"))
        case "findRate":
            return Homeport.findRate(try value("rates"), currency: try need("currency")).map { .number($0) } ?? .null
        case "isUpdateRequired": return .bool(client.isUpdateRequired(try value("settings")))
        case "isUpdateAvailable": return .bool(client.isUpdateAvailable(try value("settings")))
        default: throw CocoaError(.featureUnsupported)
        }
    }

    private func upload(_ args: Args) async throws -> JSONValue {
        guard case .array(let files) = args["files"] else { throw CocoaError(.keyValueValidation) }
        let uploads = files.compactMap(\.object).map { file in
            UploadFile(
                url: URL(fileURLWithPath: file["path"]?.string ?? ""), name: file["name"]?.string,
                type: file["type"]?.string)
        }
        let attachments = try await client.uploadAttachments(
            type: args["type"]?.string ?? "", files: uploads,
            compression: args["compression"].map { $0 == .bool(true) }, targetType: args["targetType"]?.string,
            idempotencyKey: args["idempotencyKey"]?.string
        ) { progress in
            emit([
                "event": .string("progress"), "sent": .number(Double(progress.sent)),
                "total": .number(Double(progress.total)),
            ])
        }
        return try json(attachments)
    }

    private func readKept(_ name: String, lang: String?) async throws -> JSONValue {
        switch name {
        case "subscription": return try json(await client.readKept(.subscription, lang: lang))
        case "profile": return try json(await client.readKept(.profile, lang: lang))
        case "settings": return try json(await client.readKept(.settings, lang: lang))
        case "plans": return try json(await client.readKept(.plans, lang: lang))
        case "rates": return try json(await client.readKept(.rates, lang: lang))
        default: return try json(await client.readKept(.faqs, lang: lang))
        }
    }
}

/// Seals a request for a given key, as the payload encryption page describes.
func seal(_ command: Args) throws -> JSONValue {
    let (request, jwk) = (command["request"]?.object ?? [:], command["jwk"]?.object ?? [:])
    let text = { (name: String) in request[name]?.string ?? "" }
    let id = base64Url(Data((0..<16).map { _ in UInt8.random(in: 0...255) }))
    let serverKey = try bytes(jwk["x"]?.string ?? "") + bytes(jwk["y"]?.string ?? "")
    let (message, replyKey) = try HomeportJwe.sealRequest(
        method: text("method"), target: text("target"), token: request["token"]?.string,
        contentType: request["contentType"]?.string, body: bytes(text("body")), kid: jwk["kid"]?.string ?? "",
        serverKey: serverKey, at: command["now"]?.number ?? 0, id: id)
    let key = replyKey.withUnsafeBytes { base64Url(Data($0)) }
    return .object(["message": .string(message), "jti": .string(id), "replyKey": .string(key)])
}

func open(_ command: Args) throws -> JSONValue {
    let text = { (name: String) in command[name]?.string ?? "" }
    let key = SymmetricKey(data: try bytes(text("replyKey")))
    let status = Int(command["status"]?.number ?? 0)
    let reply = try HomeportJwe.openReply(Data(text("message").utf8), status: status, id: text("jti"), key: key)
    return .object(["body": .string(base64Url(reply.body))])
}

private func base64Url(_ data: Data) -> String {
    data.base64EncodedString().replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
        .replacingOccurrences(of: "=", with: "")
}

private func bytes(_ base64Url: String) throws -> Data {
    let text = base64Url.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
    let padding = String(repeating: "=", count: (4 - text.count % 4) % 4)
    guard let data = Data(base64Encoded: text + padding) else { throw CocoaError(.coderInvalidValue) }
    return data
}

func json<Value>(_ kept: Kept<Value>) throws -> JSONValue {
    .object(["data": try json(kept.data), "isStale": .bool(kept.isStale), "asOf": try json(kept.asOf)])
}

func json(_ result: SignInResult) throws -> JSONValue {
    switch result {
    case .session(let session): return try json(session)
    case .twoFactor(let challenge): return try json(challenge)
    }
}

/// The JSON of a model, as the server would write it.
func json(_ value: some Encodable) throws -> JSONValue {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .custom { date, encoder in
        let ms = Int((date.timeIntervalSince1970 * 1000).rounded())
        let seconds = ISO8601DateFormatter().string(from: Date(timeIntervalSince1970: Double(ms / 1000)))
        var value = encoder.singleValueContainer()
        try value.encode("\(seconds.dropLast()).\(String(format: "%03d", ms % 1000))Z")
    }
    return try JSONDecoder().decode(JSONValue.self, from: encoder.encode(value))
}

func model<T: Decodable>(_ value: JSONValue) throws -> T {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .custom { decoder in
        let formatter = ISO8601DateFormatter()
        let text = try decoder.singleValueContainer().decode(String.self)
        if text.contains(".") { formatter.formatOptions.insert(.withFractionalSeconds) }
        return formatter.date(from: text) ?? Date(timeIntervalSince1970: 0)
    }
    return try decoder.decode(T.self, from: JSONEncoder().encode(value))
}

func parse(_ text: String) throws -> Args { try JSONDecoder().decode(Args.self, from: Data(text.utf8)) }
func parseValue(_ text: String) throws -> JSONValue { try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8)) }
func jsonText(_ value: JSONValue) throws -> String { String(decoding: try JSONEncoder().encode(value), as: UTF8.self) }

func describe(_ error: Error) -> JSONValue {
    guard let error = error as? HomeportError else {
        return .object(["status": .number(0), "code": .string("exception"), "message": .string("\(error)")])
    }
    return .object([
        "status": .number(Double(error.status)), "code": .string(error.code), "message": .string(error.message),
        "details": (try? json(error.details)) ?? .null, "requestId": error.requestId.map { .string($0) } ?? .null,
        "retryAfter": error.retryAfter.map { .number(Double($0)) } ?? .null,
    ])
}

private let output = NSLock()

func emit(_ line: Args) {
    guard let text = try? jsonText(.object(line)) else { return }
    output.withLock { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }
}

extension JSONValue {
    var string: String? { if case .string(let string) = self { string } else { nil } }
    var number: Double? { if case .number(let number) = self { number } else { nil } }
    var object: Args? { if case .object(let object) = self { object } else { nil } }
    var strings: [String]? { if case .array(let array) = self { array.compactMap(\.string) } else { nil } }
}
