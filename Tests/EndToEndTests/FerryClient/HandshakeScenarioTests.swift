import FerryClient
import Foundation
import TestSupport
import Testing

/// Challenges of TLS handshakes through FerryClient, with nginx as the server.
@Suite(.serialized, .blocking, .sharing) struct HandshakeScenarioTests {
  private let nginx: NginxServer
  private let fixture: FerrySessionFixture

  init() throws {
    nginx = try NginxServer(hasHTTP2: true)
    fixture = try FerrySessionFixture()
  }

  /// Runs a data task to its end. The service does not trust the server itself.
  private func run(_ recorder: HandshakeRecorder, _ site: NginxServer.Site, _ path: String) async {
    fixture.session(recorder).dataTask(with: URL(string: nginx.url(site, path))!).resume()
    await recorder.end()
  }

  @Test func `server is trusted with the credential of its trust`() async {
    let recorder = HandshakeRecorder(trust: .useCredential)
    await run(recorder, .good, "/hello.txt")
    let result = recorder.result
    #expect(result.error == nil && Array(result.data) == NginxServer.contents(5000))
    #expect(result.challenges == [NSURLAuthenticationMethodServerTrust])
    #expect(recorder.calls == ["created", "challenge", "response", "data", "metrics", "complete"])
  }

  @Test(arguments: [
    (FerrySession.AuthChallengeDisposition.cancelAuthenticationChallenge, FerryError.Code.cancelled),
    (.performDefaultHandling, .serverCertificateHasUnknownRoot),
  ]) func `server without trust ends the task`(
    disposition: FerrySession.AuthChallengeDisposition, code: FerryError.Code
  ) async {
    let recorder = HandshakeRecorder(trust: disposition)
    await run(recorder, .good, "/hello.txt")
    let result = recorder.result
    #expect(result.error?.code == code && result.response == nil && result.data.isEmpty)
    #expect(result.challenges == [NSURLAuthenticationMethodServerTrust])
  }

  @Test func `server receives the identity of the delegate`() async throws {
    let kit = try CertificateKit.shared()
    let recorder = HandshakeRecorder(trust: .useCredential)
    recorder.identity = FerryCredential(
      clientCertificate: try #require(kit.leaves[.client]), privateKey: kit.key, persistence: .none)
    await run(recorder, .asksForCertificate, "/who")
    let result = recorder.result
    #expect(String(decoding: result.data, as: UTF8.self) == "SUCCESS CN=client" && result.error == nil)
    #expect(
      result.challenges == [NSURLAuthenticationMethodServerTrust, NSURLAuthenticationMethodClientCertificate])
  }
}

/// A delegate of sessions that answers the challenges of handshakes.
private final class HandshakeRecorder: DataRecorder, @unchecked Sendable {
  private let trust: FerrySession.AuthChallengeDisposition
  var identity: FerryCredential?

  init(trust: FerrySession.AuthChallengeDisposition) { self.trust = trust }

  override func urlSession(
    _ session: FerrySession, task: FerrySessionTask, didReceive challenge: FerryAuthenticationChallenge,
    completionHandler: @escaping @Sendable (FerrySession.AuthChallengeDisposition, FerryCredential?) -> Void
  ) {
    let space = challenge.protectionSpace
    note("challenge") { $0.challenges.append(space.authenticationMethod) }
    if let serverTrust = space.serverTrust {
      #expect(!serverTrust.isTrusted && serverTrust.certificates.first?.pem.contains("BEGIN") == true)
      completionHandler(trust, trust == .useCredential ? FerryCredential(trust: serverTrust) : nil)
    } else {
      #expect(space.distinguishedNames == ["CN=Authority"])
      completionHandler(.useCredential, identity)
    }
  }
}
