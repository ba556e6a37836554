// A round trip with the generated client, whose package is a module beside this one.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	client "chancery.example/clients/go"
)

func main() {
	configuration := client.NewConfiguration()
	configuration.Servers = client.ServerConfigurations{{URL: os.Getenv("CHANCERY_URL")}}
	api := client.NewAPIClient(configuration)
	ctx := context.Background()
	credentials := *client.NewCredentials(os.Getenv("CHANCERY_EMAIL"), os.Getenv("CHANCERY_PASSWORD"))
	session, _, err := api.AuthAPI.SignInWithPassword(ctx, "_superusers").Credentials(credentials).Execute()
	check(err)
	keys := map[string]client.APIKey{"token": {Key: session.Token}}
	ctx = context.WithValue(ctx, client.ContextAPIKeys, keys)

	post := *client.NewPostsCreate("Hello")
	post.SetViews(7)
	post.SetKind("b")
	created, _, err := api.RecordsAPI.CreateRecordPosts(ctx).PostsCreate(post).Execute()
	check(err)
	list, _, err := api.RecordsAPI.ListRecordsPosts(ctx).Filter("id='" + created.Id + "'").Execute()
	check(err)
	read, _, err := api.RecordsAPI.ViewRecordPosts(ctx, created.Id).Execute()
	check(err)
	_, _, err = api.RecordsAPI.CreateRecordPosts(ctx).PostsCreate(*client.NewPostsCreate("")).Execute()
	refused := refusal(err)
	_, err = api.RecordsAPI.DeleteRecordPosts(ctx, created.Id).Execute()
	check(err)
	_, _, err = api.RecordsAPI.ViewRecordPosts(ctx, created.Id).Execute()
	missing := refusal(err)

	line, err := json.Marshal(map[string]any{
		"listed": len(list.Items), "total": list.GetTotalItems(),
		"title": read.Title, "views": read.Views, "kind": read.Kind,
		"refused": refused.Data, "status": missing.Status,
	})
	check(err)
	fmt.Println(string(line))
}

func refusal(err error) client.ErrorBody {
	answer, ok := err.(*client.GenericOpenAPIError)
	if !ok {
		log.Fatalf("expected a refusal, not %v", err)
	}
	body, ok := answer.Model().(client.ErrorBody)
	if !ok {
		log.Fatalf("expected a refusal as described, not %s", answer.Body())
	}
	return body
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
