import Foundation
import JSON
import TestSupport
import Testing

/// The trust evaluation and the certificates of a challenge, which must agree with the openssl command line.
@Suite(.serialized, .blocking, .sharing) struct TrustEvaluationTests {
  struct Finding: Sendable, CustomTestStringConvertible {
    let face: NginxServer.Site
    /// `nil` if the chain is trusted.
    let code: String?
    let message: String
    var testDescription: String { "\(face)" }
  }
  private let fixture: HandshakeFixture

  init() throws { fixture = try HandshakeFixture() }

  private func challenge(_ face: NginxServer.Site) throws -> (id: String, EventReader.Event) {
    let session = try fixture.ferry.session(delegate: HandshakeFixture.asking)
    let task = try fixture.start(.data, face, in: session)
    return (task.id, try fixture.challenge(task))
  }

  @Test(arguments: [
    Finding(face: .good, code: nil, message: "trusted"),
    Finding(face: .intermediate, code: nil, message: "trusted"),
    Finding(face: .onlyTLS13, code: nil, message: "trusted"),
    Finding(face: .expired, code: "serverCertificateHasBadDate", message: "certificate has expired"),
    Finding(
      face: .notYetValid, code: "serverCertificateNotYetValid", message: "certificate is not yet valid"),
    Finding(face: .wrongHost, code: "serverCertificateUntrusted", message: "hostname mismatch"),
    Finding(
      face: .selfSigned, code: "serverCertificateHasUnknownRoot", message: "self-signed certificate"),
    Finding(
      face: .unknownRoot, code: "serverCertificateHasUnknownRoot",
      message: "unable to get local issuer certificate"),
  ]) func `challenge contains the trust evaluation`(_ finding: Finding) throws {
    let (id, event) = try challenge(finding.face)
    #expect(event.task == id && event.data["default"]?.string == "performDefaultHandling")
    #expect(event.data["previousFailureCount"]?.integer == 0 && event.data["expiresAt"]?.string != nil)
    #expect(event.data["proposedCredential"] == .null && event.data["failureResponse"] == .null)
    let space = try #require(event.data["protectionSpace"])
    #expect(space["host"]?.string == "127.0.0.1" && space["protocol"]?.string == "https")
    #expect(space["port"]?.integer == Int64(fixture.nginx.port(finding.face)))
    #expect(space["realm"] == .null && space["isProxy"]?.bool == false && space["distinguishedNames"] == nil)
    let evaluation = try #require(space["serverTrust"]?["evaluation"])
    #expect(evaluation["isTrusted"]?.bool == (finding.code == nil))
    #expect(evaluation["code"]?.string == finding.code && evaluation["code"] != nil)
    #expect(evaluation["message"]?.string == finding.message)
    #expect(try fixture.ferry.decision(event.decision)["data"]?["protectionSpace"] == space)
    try fixture.answer(event, HandshakeFixture.byDefault)
    #expect(try fixture.ferry.end(of: id)["error"]?["name"]?.string == finding.code)
  }

  @Test(arguments: [NginxServer.Site.good, .expired, .wrongHost, .selfSigned, .unknownRoot, .intermediate])
  func `certificate chain agrees with openssl`(_ face: NginxServer.Site) throws {
    let (id, event) = try challenge(face)
    let shown = event.data["protectionSpace"]?["serverTrust"]?["certificates"]?.elements ?? []
    let kit = try CertificateKit.shared()
    let leaf = CertificateKit.Leaf(rawValue: face.rawValue) ?? .good
    let chain = Self.certificates(kit.leaves[leaf] ?? "")
    #expect(shown.count == chain.count && shown.count == (face == .intermediate ? 2 : 1))
    for (certificate, pem) in zip(shown, chain) {
      #expect(certificate["pem"]?.string == pem)
      let facts = try Facts(pem)
      #expect(certificate["subject"]?.string == facts.subject)
      #expect(certificate["issuer"]?.string == facts.issuer)
      #expect(certificate["sha256"]?.string == facts.digest)
      #expect(try certificate["publicKeySHA256"]?.string == OpenSSL.keyPin(of: pem))
      #expect(Self.seconds(certificate["notBefore"]) == Self.seconds(.string(facts.start)))
      #expect(Self.seconds(certificate["notAfter"]) == Self.seconds(.string(facts.end)))
    }
    _ = try fixture.ferry.act("cancel", id)
  }

  /// Returns the certificates of a PEM text, in openssl's form.
  private static func certificates(_ text: String) -> [String] {
    let mark = "-----END CERTIFICATE-----\n"
    return text.components(separatedBy: mark).dropLast().map { $0 + mark }
  }

  private static func seconds(_ time: JSONValue?) -> Int? {
    let text = time?.string ?? ""
    let plain = text.prefix(19) + "Z"
    return (try? Date(String(plain).replacing(" ", with: "T"), strategy: .iso8601)).map {
      Int($0.timeIntervalSince1970)
    }
  }

  /// The fields of a certificate as the openssl command line prints them.
  private struct Facts {
    var (subject, issuer, digest, start, end) = ("", "", "", "", "")

    init(_ pem: String) throws {
      let output = try OpenSSL.run(
        "x509 -noout -subject -issuer -nameopt RFC2253 -fingerprint -sha256 -dates -dateopt iso_8601",
        input: Array(pem.utf8))
      for line in String(decoding: output, as: UTF8.self).split(separator: "\n") {
        let parts = line.split(separator: "=", maxSplits: 1).map(String.init)
        switch parts[0].lowercased() {
        case "subject": subject = parts[1]
        case "issuer": issuer = parts[1]
        case "sha256 fingerprint": digest = parts[1].replacing(":", with: "").lowercased()
        case "notbefore": start = parts[1]
        case "notafter": end = parts[1]
        default: break
        }
      }
    }
  }
}
