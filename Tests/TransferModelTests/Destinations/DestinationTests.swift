import JSON
import Testing
import TransferModel

@Suite struct DestinationTests {
  @Test(arguments: [
    "/a", "/srv/media/a.iso", "/srv/a b/ä (1)", "/srv/..a", "/srv/a..", "/.hidden",
    "/" + String(repeating: "x", count: 255),
  ])
  func `absolute normalized path is accepted`(_ path: String) {
    #expect(Destination.fault(ofPath: path) == nil)
  }

  @Test(arguments: [
    ("", "absolute"), ("a/b", "absolute"), ("/", "empty part"), ("/a/", "empty part"), ("//a", "empty part"),
    ("/a//b", "empty part"), ("/a/../b", "no part . or .."), ("/..", "no part . or .."),
    ("/./a", "no part . or .."),
    ("/a\u{0}b", "U+0000"), ("/" + String(repeating: "x", count: 256), "at most 255 bytes"),
  ])
  func `other path is refused`(_ path: String, _ reason: String) {
    #expect(Destination.fault(ofPath: path)?.contains(reason) == true)
  }

  @Test(arguments: [
    ("/d/a.iso", 0, "a.iso"), ("/d/a.iso", 1, "a (1).iso"), ("/d/a.tar.gz", 12, "a (12).tar.gz"),
    ("/d/a", 2, "a (2)"), ("/d/.profile", 1, ".profile (1)"), ("/d/.tar.gz", 1, ".tar (1).gz"),
    ("/d/a.b.c", 1, "a.b (1).c"), ("/d/a.", 3, "a (3)."), ("/d/tar.gz", 1, "tar (1).gz"),
  ])
  func `number comes before the extension`(_ path: String, _ number: Int, _ name: String) {
    let destination = Destination(file: path)
    #expect(destination.name(number) == name && destination.directory == "/d")
  }

  private static let own = FileMark(inode: 1, size: 2, modifiedAt: 3)
  private static let other = FileMark(inode: 1, size: 2, modifiedAt: 4)

  @Test(
    arguments: [
      (.fail, nil, own, .rename(mayReplace: false)), (.fail, other, own, .refuse),
      (.fail, own, own, .alreadyOwn), (.fail, other, nil, .refuse),
      (.replace, nil, own, .rename(mayReplace: true)),
      (.replace, other, own, .rename(mayReplace: true)), (.replace, own, own, .alreadyOwn),
      (.replace, other, nil, .rename(mayReplace: true)), (.rename, nil, own, .rename(mayReplace: false)),
      (.rename, other, own, .tryNext), (.rename, own, own, .alreadyOwn), (.rename, other, nil, .tryNext),
    ] as [(Destination.ExistingFile, FileMark?, FileMark?, NameStep)])
  func `step depends on the rule and the found file`(
    _ rule: Destination.ExistingFile, _ found: FileMark?, _ own: FileMark?, _ step: NameStep
  ) {
    #expect(NameStep(rule, found: found, own: own) == step)
  }

  private static let directories = try? DestinationDirectories(parsing: [
    "a=/srv/a", "a=/srv/a/deep", "b=/srv/b",
  ])

  @Test(
    arguments: [
      ("/srv/a/x", "a", "/srv/a", [], "x"), ("/srv/a/c/d/x", "a", "/srv/a", ["c", "d"], "x"),
      ("/srv/a/deep/x", "a", "/srv/a/deep", [], "x"), ("/srv/a/deeper", "a", "/srv/a", [], "deeper"),
      ("/srv/b/x", "b", "/srv/b", [], "x"), ("/srv/b/x", nil, "/srv/b", [], "x"),
    ] as [(String, String?, String, [String], String)])
  func `deepest directory of the tenant contains the file`(
    _ file: String, _ tenant: String?, _ root: String, _ names: [String], _ name: String
  ) throws {
    let place = try #require(Self.directories).place(of: file, for: tenant.map { Tenant(name: $0) })
    #expect(place?.root == root && place?.directories == names && place?.name == name)
  }

  @Test(arguments: [("/srv/b/x", "a"), ("/srv/a", "a"), ("/srv/ab", "a"), ("/etc/x", "a"), ("/srv/a/x", "c")])
  func `file outside the tenant's directories has no place`(_ file: String, _ tenant: String) throws {
    #expect(try #require(Self.directories).place(of: file, for: Tenant(name: tenant)) == nil)
  }

  @Test(arguments: [
    (["a=/srv", "b=/srv/b"], "overlap"), (["/srv/b", "b=/srv"], "overlap"), (["a=/x", "b=/x"], "overlap"),
    (["srv"], "absolute"), (["=/srv"], "no tenant"), (["a="], "absolute"), (["/srv/"], "empty part"),
    (["/srv/../etc"], "no part . or .."),
  ])
  func `unusable directories are refused`(_ texts: [String], _ reason: String) {
    #expect {
      _ = try DestinationDirectories(parsing: texts)
    } throws: { error in
      (error as? DestinationDirectories.Fault)?.message.contains(reason) == true
    }
  }

  @Test func `path with an equals sign needs no tenant`() throws {
    #expect(
      try DestinationDirectories(parsing: ["/srv/a=b"]).entries == [.init(tenant: nil, path: "/srv/a=b")])
  }

  @Test(arguments: [
    (#"{"file":"/a/b"}"#, []), (#"{"file":"/a/b","ifExists":"rename"}"#, []), ("{}", ["/d/file"]),
    (#"{"file":"a"}"#, ["/d/file"]), (#"{"file":"/a","ifExists":"keep"}"#, ["/d/ifExists"]),
    (#"{"s3":{"bucket":"b","key":"k"}}"#, ["/d/s3"]), (#"{"file":"/a","mode":"0600"}"#, ["/d/mode"]),
    (#"{"file":7}"#, ["/d/file"]), (#"{"file":null}"#, ["/d/file"]),
  ])
  func `wrong members are named`(_ text: String, _ pointers: [String]) throws {
    let violations = Violations()
    var reader = ObjectReader(try JSONParser.parse(Array(text.utf8)), at: "/d", violations)
    _ = Destination(validating: &reader)
    #expect(violations.all.map(\.pointer) == pointers)
  }
}
