import Foundation
import TestSupport
import Testing

@Suite(.blocking) struct ProxyTests {
  private let nginx: NginxServer
  init() throws { nginx = try NginxServer() }

  @Test(arguments: SquidProxy.Authentication.allCases)
  func `squid accepts only the configured user`(_ authentication: SquidProxy.Authentication) throws {
    let squid = try SquidProxy(authentication)
    let scheme = authentication == .none ? "--proxy-anyauth" : "--proxy-\(authentication)"
    func get(_ face: NginxServer.Site, _ password: String) throws -> Curl {
      try Curl(
        "--cacert", nginx.authorityFile, "-x", squid.url, scheme, "-U", "\(SquidProxy.user):\(password)",
        nginx.url(face, "/hello.txt"))
    }
    let (plain, tunnel) = (try get(.plain, SquidProxy.password), try get(.good, SquidProxy.password))
    #expect(plain.status == 200 && plain.body == NginxServer.contents(5000))
    #expect(tunnel.status == 200 && tunnel.connect == 200 && tunnel.body == plain.body)
    let (wrong, wrongTunnel) = (try get(.plain, "wrong"), try get(.good, "wrong"))
    let isOpen = authentication == .none
    #expect(wrong.status == (isOpen ? 200 : 407) && wrongTunnel.connect == (isOpen ? 200 : 407))
    let log = squid.log(atLeast: 4)
    #expect(log.contains { $0.hasPrefix("GET \(nginx.url(.plain, "/hello.txt")) 200 ") })
    #expect(log.contains { $0.hasPrefix("CONNECT 127.0.0.1:\(nginx.port(.good)) 200 ") })
    #expect(log.contains { $0.contains(" 407 ") } == !isOpen)
    let basic = Data("\(SquidProxy.user):\(SquidProxy.password)".utf8).base64EncodedString()
    #expect(log.contains { $0.hasSuffix(" 200 Basic \(basic)") } == (authentication == .basic))
  }

  @Test func `SOCKS proxy accepts only the configured user`() throws {
    let (open, closed) = (try SOCKSProxy(), try SOCKSProxy(authenticates: true))
    let url = nginx.url(.good, "/hello.txt", host: "localhost")
    func get(_ proxy: SOCKSProxy, _ user: String = "") throws -> Curl {
      try Curl("--cacert", nginx.authorityFile, "-x", "socks5h://\(user)127.0.0.1:\(proxy.port)", url)
    }
    #expect(try get(open).status == 200)
    #expect(try get(closed, "\(SOCKSProxy.user):\(SOCKSProxy.password)@").body == NginxServer.contents(5000))
    #expect(try get(closed, "\(SOCKSProxy.user):wrong@").status == 0)
    #expect(try get(closed).status == 0)
    #expect(open.log(atLeast: 1).contains { $0.contains("localhost:\(nginx.port(.good))") })
  }
}
