import TestSupport
import Testing

@Suite(.blocking) struct KerberosRealmTests {
  @Test func `ticket or keytab opens the protected files`() throws {
    let realm = try KerberosRealm()
    let (apache, file) = (try ApacheServer(kerberos: realm), try UploadFile())
    func get(_ environment: [String: String], _ options: String = "--negotiate") throws -> Curl {
      try Curl(options, "-u", ":", apache.url(.plain, "/kerberos/hello.txt"), environment: environment)
    }
    let ticket = try realm.withTicket()
    #expect(try get(ticket).body == NginxServer.contents(5000))
    #expect(try get(realm.withKeytab()).status == 200)
    #expect(try get(realm.environment).status == 401)
    #expect(try get(ticket, "--basic").status == 401)
    let upload = try Curl(
      "--negotiate", "-u", ":", "-T", file.path, apache.url(.plain, "/kerberos/put"), environment: ticket)
    #expect(upload.status == 201 && apache.uploaded("put") == file.bytes)
    #expect(apache.log().contains { $0.hasPrefix("GET /kerberos/hello.txt 200 Negotiate ") })
    #expect(realm.log().contains { $0.contains("robot@FERRY.TEST for HTTP/localhost@FERRY.TEST") })
  }
}
