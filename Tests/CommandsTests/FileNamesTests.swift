import Testing

@testable import Commands

@Suite struct FileNamesTests {
  @Test(arguments: [
    ("a.iso", "a.iso"), ("../../etc/passwd", "_._.._etc_passwd"), (".bashrc", "_bashrc"), ("..", "download"),
    ("", "download"), ("a\u{0}b\u{1B}[2Jc\n", "a_b_[2Jc_"), ("-rf", "_rf"), ("a\\b", "a_b"),
    ("gnp\u{202E}exe.png", "gnpexe.png"), ("  name. ", "name"), ("名前.txt", "名前.txt"),
  ])
  func `suggested name becomes a safe one`(suggested: String, name: String) {
    #expect(FileNames.safe(suggested) == name)
  }

  @Test func `missing name is download`() { #expect(FileNames.safe(nil) == "download") }

  @Test(arguments: ["a", "é", "名", "👩‍👩‍👧"])
  func `long name is shortened by characters and keeps its extension`(character: String) {
    let name = FileNames.safe(String(repeating: character, count: 400) + ".tar.gz")
    #expect(name.hasSuffix(".tar.gz"))
    #expect(FileNames.numbered(name, 9999).utf8.count <= FileNames.maximumBytes && name.utf8.count > 200)
  }

  @Test(arguments: [
    ("a.iso", 0, "a.iso"), ("a.iso", 1, "a (1).iso"), ("a.tar.gz", 2, "a (2).tar.gz"),
    ("name", 1, "name (1)"),
    ("a.b.c", 1, "a.b (1).c"), (".tar.gz", 1, ".tar.gz (1)"),
    ("v1.averyveryverylongextension", 1, "v1.averyveryverylongextension (1)"),
  ])
  func `number precedes the extension`(name: String, number: Int, expected: String) {
    #expect(FileNames.numbered(name, number) == expected)
  }
}
